package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/proof"
)

const (
	eventsStream = "/api/events/stream"
	created      = "?types=prompt_template.created"
)

// isStream reports whether the response of an operation goes on until someone ends it.
func isStream(op *openapi.Operation) bool {
	return strings.HasPrefix(op.ID, "stream")
}

func TestEventStream(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		second := s.another(t)
		ann := s.user(t, "owner")
		create := func(name string) string { return ann.create(t, templates, object{"name": name}).at("id") }

		t.Run("events arrive in the order of the feed, from every node", func(t *testing.T) {
			local, other := ann.streamOf(t, eventsStream, created), ann.at(second).streamOf(t, eventsStream, created)
			for i := range 3 {
				id := create(fmt.Sprint("ordered-", i))
				for _, e := range []*events{local, other} {
					got := e.is("",
						map[string]string{"type": "prompt_template.created", "subject": id, "actor": ann.id})
					if got.id != got.at("seq") {
						t.Errorf("the id is %s, the seq %s", got.id, got.at("seq"))
					}
				}
			}
			local.close()
			other.close()
		})
		t.Run("a reader resumes where it was, and misses nothing", func(t *testing.T) {
			e := ann.streamOf(t, eventsStream, created)
			first := create("resumed-1")
			last := e.is("", map[string]string{"subject": first}).id
			e.close()
			missedText := create("resumed-2")
			e = ann.at(second).streamOf(t, eventsStream, created, "Last-Event-ID: "+last)
			e.is("", map[string]string{"subject": missedText})
			e.close()
			ann.streamOf(t, eventsStream, created+"&after="+last).is("", map[string]string{"subject": missedText})
		})
		t.Run("a filter sends only its types", func(t *testing.T) {
			e := ann.streamOf(t, eventsStream, "?types=prompt_template.deleted,prompt_template.updated")
			id := create("filtered")
			ann.do(t, "DELETE", "/api/prompt-templates/"+id, nil).is(t, 204)
			e.is("", map[string]string{"type": "prompt_template.deleted", "subject": id})
		})
		t.Run("a reader who cannot know everything is told", func(t *testing.T) {
			for _, last := range []string{"9000000", "nonsense", "-1"} {
				e := ann.streamOf(t, eventsStream, created, "Last-Event-ID: "+last)
				reset := e.is("reset", nil)
				id := create("reset-" + last)
				if e.is("", map[string]string{"subject": id}); reset.id == last {
					t.Errorf("the place is still %s", last)
				}
				e.close()
			}
		})
		t.Run("an event arrives soon", func(t *testing.T) {
			e := ann.streamOf(t, eventsStream, created)
			begin := time.Now()
			id := create("soon")
			e.is("", map[string]string{"subject": id})
			proof.Within(t, "from the request to the event", time.Since(begin), 250*time.Millisecond)
		})
		t.Run("who is no admin gets what they see, and the stream follows their role", func(t *testing.T) {
			bob := s.user(t, "admin")
			e := bob.streamOf(t, eventsStream, "?types=prompt_template.created,member.updated")
			hidden := create("of-an-admin")
			e.is("", map[string]string{"subject": hidden, "address": "127.0.0.1"})
			member := "/api/workspaces/" + ann.workspace + "/members/" + bob.id
			ann.do(t, "PATCH", member, object{"role": "member"}, "If-Match: *").is(t, 200)
			e.is("", map[string]string{"type": "member.updated", "data.user_id": bob.id})
			awaits(t, "the stream knows the role", s, func() bool {
				return bob.get(t, "/api/me").at("role") == "member"
			})
			// In turn unseen and seen by a member. The stream asks for the role once a second.
			begin, subjects := time.Now(), []string(nil)
			report := proof.Await(t, "the stream follows the role", func() event {
				if len(subjects) > 0 {
					e.next()
				}
				subjects = append(subjects, create(fmt.Sprint("unseen-", len(subjects))),
					ann.create(t, templates, object{"name": fmt.Sprint("seen-", len(subjects)),
						"visibility": "workspace"}).at("id"))
				return e.next()
			}, func(reportedEvent event) bool { return reportedEvent.at("subject") != subjects[len(subjects)-2] })
			unseen, seen := subjects[len(subjects)-2], subjects[len(subjects)-1]
			report.has(t, map[string]string{"subject": seen, "address": "null", "api_key_id": "null", "actor": ann.id})
			proof.Within(t, "until the stream followed the role", time.Since(begin), 2*time.Second)
			ownID := bob.create(t, templates, object{"name": "own"}).at("id")
			e.is("", map[string]string{"subject": ownID, "address": "127.0.0.1"})
			for _, query := range []string{"?limit=100", "?limit=100&order=asc"} {
				all := bob.get(t, "/api/events"+query).each(t, "subject")
				if slices.Contains(all, unseen) || slices.Contains(all, hidden) || !slices.Contains(all, seen) ||
					!slices.Contains(all, ownID) {
					t.Errorf("%s lists %q", query, all)
				}
			}
			bob.do(t, "GET", "/api/events/verification", nil).problem(t, 403, "forbidden")
			ann.do(t, "DELETE", member, nil, "If-Match: *").is(t, 204)
			e.ends(3 * time.Second)
		})
	})
}
