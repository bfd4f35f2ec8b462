package account

import (
	"net/url"
	"strings"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Leak is a report that a token was found where others can read it.
type Leak struct {
	Token  string
	URL    string // where it was found; empty: unknown
	Source string // the kind of place, such as commit; empty: unknown
}

const (
	maxLeakURL    = 500
	maxLeakSource = 40
)

// EndLeaked ends k, of which the complete token was found, and made: the keys that were created with it, recursively.
// by is the system. A suspended key ends too: it would work again. EndLeaked reports whether k could still work.
func (w *Workspace) EndLeaked(by identity.Actor, l Leak, k *Key, keys []*Key) bool {
	if by.User != "" || by.Workspace != w.ID || k.Workspace != w.ID || k.ended(by.At) {
		return false
	}
	data := map[string]any{"name": k.Name}
	if found := l.auditURL(); found != "" {
		data["url"] = found
	}
	if source := l.kind(); source != "" {
		data["source"] = source
	}
	k.Record(by, "api_key.leaked", string(k.ID), data)
	k.end(by)
	endAll(by, keys)
	return true
}

// auditURL returns the URL of l for the audit trail, without user and query; "" if it is not an https URL or is long.
func (l Leak) auditURL() string {
	u, err := url.Parse(l.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	if text := u.String(); len(text) <= maxLeakURL {
		return text
	}
	return ""
}

// kind returns the source of l for the audit trail; empty if it is not a short word.
func (l Leak) kind() string {
	isOther := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-' }
	if len(l.Source) > maxLeakSource || strings.ContainsFunc(l.Source, isOther) {
		return ""
	}
	return l.Source
}

// AlertRecipient returns the id of the person who is notified about k: its user, or for a service key the user who
// is responsible for it. It is empty for a key that the system created for a program.
func (k *Key) AlertRecipient() identity.UserID {
	if k.Service {
		return k.Responsible()
	}
	return k.User
}

// CanBeAlerted reports whether mail about u's account can go to u's address, which must be confirmed.
func (u *User) CanBeAlerted() bool {
	return u.Enabled() && !u.Service && u.Confirmed() && public(u.Email)
}
