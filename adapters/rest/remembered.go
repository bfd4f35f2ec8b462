package rest

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// remembered is a query that applications repeat all the time. Its responses are cached, and are returned without a
// statement while nothing in the workspace has changed, for a second at most. So a change through this process takes
// effect at once, and one through another process, or by time, within a second; one through another process that uses
// the same SQLite file, within 100 ms. Cache-Control: no-cache in a request reads the database. The result may depend
// on nothing but the request, its caller and the workspace.
//
// A response whose query sets lasts is cached for longer, while this process learns of all changes that are more than a
// second old and finds none.
type remembered func(*request) (reply, error)

func (q remembered) handler(a *API, op *openapi.Operation) http.Handler {
	return a.handle(op, q.perform)
}

func (q remembered) perform(r *request) (answer ports.Answer, replayed bool, err error) {
	if r.by.Workspace == "" || len(r.body) > maxAskedBytes {
		return q.ask(r)
	}
	at, settled := r.api.versionOf(r.by.Workspace)
	if !settled {
		return q.ask(r)
	}
	key, read := r.asked(), time.Now()
	reader := r.readerKey(&key)
	if !r.mustRead() {
		known, ok := r.api.answers.recallFor(reader, key, at, read)
		if !ok {
			reading := askedAt{key, at.generation}
			if done, first := r.api.reading.begin(reading); first {
				defer r.api.reading.end(reading)
			} else {
				select {
				case <-done:
				case <-r.Context().Done():
				}
				known, ok = r.api.answers.recallFor(reader, key, at, read)
			}
		}
		if ok {
			r.PromptReads.Record(r.by, known.versions...)
			return known.answer, false, nil
		}
	}
	answer, _, err = q.ask(r)
	if err == nil && !r.unremembered && (!r.mustRead() || r.api.answers.has(key)) {
		// A share that ended between the time of the request and its read counts as a change for a few seconds only.
		lasts := r.lasts && read.Sub(r.by.At).Abs() < answersFresh
		begun := exchangeOf(r.Request).begun // the version may have been read together with the caller
		r.api.answers.rememberFor(reader, key, kept{answer, r.versions, r.rollouts, at, lasts, begun})
	}
	return answer, false, err
}

// version is what a process knows of the changes of a workspace at some time.
type version struct {
	generation uint64 // of the changes through this process
	observed   uint64 // of those that it has observed
	current    bool   // it has learned of all that are more than a second old
}

func (a *API) versionOf(ws identity.WorkspaceID) (v version, settled bool) {
	v.observed, v.current = a.Changes.ObservedGeneration(ws)
	v.generation, settled = a.Changes.Generation(ws)
	return v, settled
}

// recallFor is recall of the answer with the versions that rollouts choose for a reader; the empty one is none.
func (s *answers) recallFor(reader string, key asked, at version, now time.Time) (kept, bool) {
	known, ok := s.recall(&key, at, now)
	if !ok || len(known.rollouts) == 0 || reader == "" {
		return known, ok
	}
	key.choose(known.rollouts, reader)
	return s.recall(&key, at, now)
}

// rememberFor is remember of an answer in which rollouts chose versions for a reader. It remembers the rollouts too.
func (s *answers) rememberFor(reader string, key asked, k kept) {
	if len(k.rollouts) > 0 && reader != "" {
		s.remember(key, kept{rollouts: k.rollouts, at: k.at, lasts: k.lasts, read: k.read})
		key.choose(k.rollouts, reader)
	}
	s.remember(key, k)
}

// ask reads from the database.
func (q remembered) ask(r *request) (answer ports.Answer, replayed bool, err error) {
	if answer, replayed, err = query(q).perform(r); err == nil {
		r.PromptReads.Record(r.by, r.versions...)
	}
	return answer, replayed, err
}

// mustRead reports whether the caller requires a read from the database.
func (r *request) mustRead() bool { return strings.Contains(r.Header.Get("Cache-Control"), "no-cache") }

const (
	maxAskedBytes   = 16 << 10  // of a body; larger ones are rarely sent twice
	maxKeptBytes    = 512 << 10 // of an answer
	maxAnswersBytes = 64 << 20  // of all answers, with what was asked
	answerOverhead  = 1 << 10   // of an entry, about
	answersFresh    = time.Second
	answersLast     = 10 * time.Minute // of those that no change has made old: how long a mistake could last
)

// asked is a request whose answer is kept: everything that the answer can depend on.
type asked struct {
	op                *openapi.Operation
	path, query, body string
	org               *identity.Org // another one after its configuration has changed
	workspace         identity.WorkspaceID
	user              identity.UserID
	key               identity.KeyID
	role, ceiling     identity.Role
	operator          bool
	person            [2]int64 // the revisions of the user and of the workspace, if there is only one
	choice            string   // of versions by rollouts; empty for a request without the key of a reader
}

func (r *request) asked() asked {
	var person [2]int64
	if r.hasOneWorkspace() {
		person = [2]int64{r.person().User.Revision, r.person().Memberships[0].Workspace.Revision}
	}
	return asked{
		op: r.op, path: r.URL.Path, query: r.URL.RawQuery, body: string(r.body), org: observation(r.Request).org,
		workspace: r.by.Workspace, user: r.by.User, key: r.by.Key, role: r.by.Role, ceiling: r.by.Ceiling,
		operator: r.by.Operator, person: person,
	}
}

// hasOneWorkspace reports whether the caller is known in one workspace only, as the bearer of an API key is.
func (r *request) hasOneWorkspace() bool { return r.owner != nil && len(r.person().Memberships) == 1 }

func (k *asked) size() int {
	return len(k.path) + len(k.query) + len(k.body) + len(k.choice) + answerOverhead
}

// kept is an answer, with the version of the workspace and the time before it was read.
type kept struct {
	answer   ports.Answer
	versions []prompt.VersionID // of prompts, which the answer shows
	rollouts []*prompt.Rollout  // that chose them
	at       version
	lasts    bool // time alone does not make it old
	read     time.Time
}

// isGood reports whether k can be returned at a time, when the workspace has a version.
func (k *kept) isGood(at version, now time.Time) bool {
	age := now.Sub(k.read)
	return k.at.generation == at.generation &&
		(age < answersFresh || k.lasts && at.current && k.at == at && age < answersLast)
}

// answers keeps the answers of remembered queries. They must not be changed. Those of the older half are dropped when
// the younger half is full, or a second old: otherwise answers that are read once would fill the memory. One of the
// older half that is used moves to the younger one.
type answers struct {
	mu          sync.Mutex
	young, aged map[asked]kept
	size        int       // of the young, in bytes
	begun       time.Time // when the younger half was empty
}

// recall returns the answer to what is asked, if it can still be used.
func (s *answers) recall(key *asked, at version, now time.Time) (known kept, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, isYoung := s.young[*key]
	if !isYoung {
		if known, ok = s.aged[*key]; !ok {
			return kept{}, false
		}
	}
	if !known.isGood(at, now) {
		return kept{}, false
	}
	if !isYoung {
		s.add(key, known, now)
	}
	return known, true
}

// has reports whether there is an answer that a read from the database must replace, so that no later one is older.
func (s *answers) has(key asked) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, young := s.young[key]
	if !young {
		_, young = s.aged[key]
	}
	return young
}

// remember keeps an answer, unless one of a later generation has been read meanwhile.
func (s *answers) remember(key asked, k kept) {
	if len(k.answer.Body) > maxKeptBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, there := s.young[key]; there && old.at.generation > k.at.generation {
		return
	}
	s.add(&key, k, k.read)
}

// add requires s.mu.
func (s *answers) add(key *asked, k kept, now time.Time) {
	size := key.size() + len(k.answer.Body)
	expired := now.Sub(s.begun).Abs() >= answersFresh // the clock may have been set back
	if expired || s.size+size > maxAnswersBytes/2 {
		s.aged, s.young, s.size, s.begun = s.young, make(map[asked]kept, len(s.young)), 0, now
	} else if old, there := s.young[*key]; there {
		s.size -= key.size() + len(old.answer.Body)
	}
	s.size += size
	s.young[*key] = k
}

// counts keeps a number for each workspace.
type counts struct {
	mu    sync.Mutex
	known map[identity.WorkspaceID]count
}

// count is a number, with the generation of the workspace and the time before it was read.
type count struct {
	n          int
	generation uint64
	read       time.Time
}

// maxCounts is how many workspaces have a number in memory; an entry needs about 100 bytes.
const maxCounts = 20_000

// recall returns the number of a workspace, if it can still be used.
func (s *counts) recall(ws identity.WorkspaceID, generation uint64, now time.Time) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.known[ws]
	return c.n, ok && c.generation == generation && now.Sub(c.read) < answersFresh
}

// remember keeps the number of a workspace.
func (s *counts) remember(ws identity.WorkspaceID, c count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxCounts {
		s.known = map[identity.WorkspaceID]count{}
	}
	s.known[ws] = c
}
