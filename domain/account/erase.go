package account

import (
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// ErasurePrefix begins an erasure's identifier.
const ErasurePrefix = "era"

// ErasureID identifies an erasure.
type ErasureID string

// EraseJob is the kind of the job that completes an erasure. Its subject is the person.
const EraseJob job.Kind = "person.erase"

// Errors about erasures.
var (
	ErrOnlyOwner = &fault.Error{
		Kind: fault.Conflict, Code: "only_owner",
		Detail: "The person is the only owner of a workspace. Appoint another owner, or delete the workspace.",
	}
	ErrErasureNotFound = &fault.Error{
		Kind: fault.NotFound, Code: "erasure_not_found", Detail: "The person was not erased.",
	}
)

// Erasure is the removal of everything that Atrium stores about a person, except the trail of what they did, which
// keeps their id. The first part runs at once; a job does the rest.
type Erasure struct {
	ID          ErasureID
	Org         identity.OrgID
	User        identity.UserID
	RequestedBy identity.UserID // empty: the command line
	Terms       []string        // texts to look for: the name, addresses and subjects; empty once it has ended
	Report      ErasureReport
	CreatedAt   time.Time
	EndedAt     time.Time // zero: the job has not ended

	Owned []identity.WorkspaceID // the workspaces that User owned; not stored
}

// ErasureReport counts what an erasure removed or changed.
type ErasureReport struct {
	Memberships int `json:"memberships"`
	Keys        int `json:"api_keys"` // that were live
	Sessions    int `json:"sessions"`
	SignIns     int `json:"sign_ins"`
	Shares      int `json:"shares"` // of prompt and chat templates
	Invitations int `json:"invitations"`
	Others      int `json:"others"`    // other rows, such as links, tickets and passkeys
	Responses   int `json:"responses"` // stored for repeated requests
	Events      int `json:"events"`    // of the audit trail, which were redacted
}

// Leaver is a person to erase, with everything that ends with the account.
type Leaver struct {
	*Access
	Workspaces []*Workspace // that the person is a member of or created, deleted ones too, with the membership and Keys
	KnownAs    []string     // names besides User.Name and addresses besides User.Email
}

// Erase ends the account permanently: the memberships, the API keys that end with them, the name and the address.
// It requires the same caller as Access.Disable, with the same errors, and ErrOnlyOwner if a workspace that is not
// deleted would be left without an owner. Service keys that the person created end.
func (l *Leaver) Erase(by identity.Actor) (*Erasure, error) {
	if err := l.mayChange(by, ""); err != nil {
		return nil, err
	}
	u := l.User
	if by.User == u.ID && len(l.Operators) == 1 {
		return nil, ErrLastOperator
	}
	if err := by.SteppedUp(); err != nil {
		return nil, err
	}
	if rest := l.ownedByNoOther(); len(rest) > 0 {
		return nil, ErrOnlyOwner.Because("The person is the only owner of " + strings.Join(rest, ", ") +
			". Appoint another owner, or delete the workspace.")
	}
	e := &Erasure{
		ID: ErasureID(id.New(ErasurePrefix)), Org: u.Org, User: u.ID, RequestedBy: by.User, CreatedAt: by.At,
		Terms: l.terms(),
	}
	for _, w := range l.Workspaces {
		for _, k := range w.Powers[u.ID].Keys {
			if k.Live(by.At) {
				e.Report.Keys++
			}
		}
		w.forgetMaker(by, u)
		if m, member := w.Members[u.ID]; member {
			if m.Role == identity.Owner {
				e.Owned = append(e.Owned, w.ID)
			}
			w.endMembership(by, m, false)
			e.Report.Memberships++
		}
	}
	u.Name, u.Email, u.EmailVerified, u.EmailVerifiedBy, u.DefaultWorkspace = "", "", false, "", ""
	u.Operator, u.OperatorByHand, u.OperatorBy = false, false, nil
	u.ErasedAt = by.At
	if u.DisabledAt.IsZero() {
		u.DisabledAt = by.At
	}
	l.record(by, "user.erased", "", func(identity.WorkspaceID, map[string]any) {})
	return e, nil
}

// forgetMaker replaces the name and the slug of w if u created it under u's own name.
func (w *Workspace) forgetMaker(by identity.Actor, u *User) {
	if w.CreatedBy != u.ID || u.Name == "" {
		return
	}
	hasName, ownSlug := w.Name == u.Name || w.Name == clip(u.Name, 100), slugOf(u.Name)
	hasSlug := w.Slug == ownSlug || strings.HasPrefix(w.Slug, ownSlug+"-")
	if hasName {
		w.Name = personalName
	}
	if hasSlug {
		w.Slug = "workspace-" + string(w.ID)[max(0, len(w.ID)-12):]
	}
	if hasName || hasSlug {
		w.touch(by)
		w.record(by, "workspace.updated", map[string]any{"reason": "erasure"})
	}
}

// ownedByNoOther returns the slugs of the workspaces that only the person owns. Deleted ones do not count: they can be
// restored only at the command line, where someone else can be made their owner.
func (l *Leaver) ownedByNoOther() (slugs []string) {
	for _, w := range l.Workspaces {
		if w.DeletedAt.IsZero() && w.lastOwner(w.Members[l.User.ID]) {
			slugs = append(slugs, w.Slug)
		}
	}
	slices.Sort(slugs)
	return slugs
}

// terms returns the texts that name the person.
func (l *Leaver) terms() []string {
	terms := append([]string{l.User.Name, l.User.Email}, l.KnownAs...)
	if slug := slugOf(l.User.Name); l.User.Name != "" && strings.Contains(slug, "-") {
		terms = append(terms, slug)
	}
	terms = slices.DeleteFunc(terms, func(s string) bool { return s == "" })
	slices.Sort(terms)
	return slices.Compact(terms)
}
