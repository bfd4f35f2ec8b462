package account

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// Limits of what a directory stores by SCIM.
const (
	MaxDirectoryText   = 255    // bytes of a user name, of an id in the directory, and of a group's name
	MaxDirectoryPeople = 10_000 // in one group
	MaxDirectoryGroups = 1_000  // in an org, and of one person
)

// Errors that a directory's request can return.
var (
	ErrDirectoryUserNotFound = &fault.Error{Kind: fault.NotFound, Code: "not_found",
		Detail: "The directory has no such user here."}
	ErrDirectoryGroupNotFound = &fault.Error{Kind: fault.NotFound, Code: "not_found",
		Detail: "The directory has no such group here."}
	ErrDirectoryUserExists = &fault.Error{Kind: fault.Conflict, Code: "directory_user_exists",
		Detail: "Another user of the directory has this userName, or this account."}
	ErrDirectoryGroupExists = &fault.Error{Kind: fault.Conflict, Code: "directory_group_exists",
		Detail: "Another group of the directory has this displayName."}
	ErrDirectoryNotJoined = &fault.Error{Kind: fault.Conflict, Code: "directory_not_joined",
		Detail: "An account has this e-mail address, but no one that the organisation trusts has verified it. An " +
			"operator can erase that account, or its person can sign in at an issuer that vouches for the address."}
	ErrDirectoryNameTaken = &fault.Error{Kind: fault.Conflict, Code: "directory_name_reused",
		Detail: "A user with this userName and another externalId was removed. If this is the same person, send that " +
			"externalId. Otherwise an operator must erase the former person's account first."}
	ErrDirectoryAddressTaken = &fault.Error{Kind: fault.Conflict, Code: "directory_address_taken",
		Detail: "Another account of the organisation has this e-mail address."}
	ErrDirectoryLastOperator = &fault.Error{Kind: fault.Conflict, Code: ErrLastOperator.Code,
		Detail: "This person is the only operator of the organisation whose account is active (last_operator). " +
			"Make another person an operator first."}
	ErrDirectoryFull = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "The directory has as many groups as an organisation can have."}
)

// DirectoryNoticeJob mails one person about another person that the directory has deactivated. Its subject has the ids
// of the latter and of the recipient.
const DirectoryNoticeJob job.Kind = "directory.notice"

// DirectoryPerson is a directory's data about a person (RFC 7643, section 4.1).
type DirectoryPerson struct {
	UserName   string // 1 to MaxDirectoryText bytes, unique in the org without regard to case
	ExternalID string // the person's id in the directory; empty: none
	Formatted  string // the whole name; this and the following have at most 120 characters
	GivenName  string
	FamilyName string
	Display    string
	Email      string // the primary one; empty: UserName, if that is an address
	EmailType  string // such as "work", at most MaxDirectoryText bytes; empty if Email is
	Active     bool
}

// name returns the name that the account gets; empty if the directory sent none.
func (p *DirectoryPerson) name() string {
	for _, name := range []string{p.Display, p.Formatted, strings.TrimSpace(p.GivenName + " " + p.FamilyName)} {
		if name != "" {
			return name
		}
	}
	return ""
}

// Address returns the e-mail address that the account gets; empty for none.
func (p *DirectoryPerson) Address() string {
	if p.Email == "" && validEmail(p.UserName) {
		return p.UserName
	}
	return p.Email
}

// check returns what is wrong with p for an org.
func (p *DirectoryPerson) check(org *identity.Org) error {
	var faults fault.Fields
	directoryText(&faults, "/userName", p.UserName, true)
	directoryText(&faults, "/externalId", p.ExternalID, false)
	directoryText(&faults, "/emails", p.EmailType, false)
	for pointer, name := range map[string]string{"/displayName": p.Display, "/name/formatted": p.Formatted,
		"/name/givenName": p.GivenName, "/name/familyName": p.FamilyName} {
		if utf8.RuneCountInString(name) > 120 || containsControl(name) {
			faults.Add(pointer, "invalid_format", "Must have at most 120 characters, none of them a control character.")
		}
	}
	if email := p.Address(); email != "" {
		issuer, _ := org.Issuer(identity.SCIMIssuer)
		if errs := emailFaults(email); len(errs) > 0 {
			faults.Add("/emails", errs[0].Code, errs[0].Detail)
		} else if !issuer.VouchesFor(email) {
			faults.Add("/emails", "not_allowed_value", "The directory may not manage addresses of this domain.")
		}
	}
	return faults.Err()
}

func containsControl(s string) bool {
	return strings.ContainsFunc(s, unicode.IsControl)
}

func directoryText(faults *fault.Fields, pointer, text string, isRequired bool) {
	switch {
	case text == "" && isRequired:
		faults.Add(pointer, "required", "Must not be empty.")
	case len(text) > MaxDirectoryText || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		faults.Add(pointer, "invalid_format", "Must have at most 255 bytes, none of them a control character.")
	}
}

// DirectoryKey returns the form in which user names and names of groups are compared (RFC 7643, section 4.1.1:
// userName is not case-sensitive).
func DirectoryKey(name string) string { return strings.ToLower(name) }

// DirectoryUser is a person that an org's directory manages.
type DirectoryUser struct {
	ID      identity.UserID // the account
	Org     identity.OrgID
	Subject string // of the account's sign-in at identity.SCIMIssuer; never shown
	DirectoryPerson
	Groups    []DirectoryGroup // without their people
	CreatedAt time.Time
	UpdatedAt time.Time
	RemovedAt time.Time // when the directory deleted the user; zero: it has not

	// Unsettled counts the changes of Groups that have not reached the account's roles.
	Unsettled int64
}

// NewDirectoryUser returns a user without an account. org has a directory.
func NewDirectoryUser(by identity.Actor, org *identity.Org, p DirectoryPerson) (*DirectoryUser, error) {
	if err := p.check(org); err != nil {
		return nil, err
	}
	return &DirectoryUser{Org: by.Org, Subject: id.New("dus"), DirectoryPerson: p, CreatedAt: by.At,
		UpdatedAt: by.At}, nil
}

// Change replaces the directory's data about u.
func (u *DirectoryUser) Change(by identity.Actor, org *identity.Org, p DirectoryPerson) error {
	if err := p.check(org); err != nil {
		return err
	}
	u.DirectoryPerson, u.UpdatedAt = p, by.At
	return nil
}

// Return makes a removed user one of the directory again, with its current data.
func (u *DirectoryUser) Return(by identity.Actor, org *identity.Org, p DirectoryPerson) error {
	switch {
	case u.RemovedAt.IsZero():
		return ErrDirectoryUserExists
	case u.ExternalID != p.ExternalID:
		return ErrDirectoryNameTaken
	}
	u.RemovedAt, u.CreatedAt = time.Time{}, by.At
	return u.Change(by, org, p)
}

// Remove ends the directory's management of u. The account stays, disabled.
func (u *DirectoryUser) Remove(by identity.Actor) {
	u.RemovedAt, u.UpdatedAt, u.Active, u.Groups = by.At, by.At, false, nil
}

// Claims returns what a token of the directory would say about u: the names of its groups are the claim "groups".
func (u *DirectoryUser) Claims(now time.Time) Claims {
	groups := make([]any, len(u.Groups))
	for i, g := range u.Groups {
		groups[i] = g.Name
	}
	return Claims{Issuer: identity.SCIMIssuer, Subject: u.Subject, Email: u.Address(), EmailVerified: true,
		Name: u.name(), IssuedAt: now, ExpiresAt: now, Raw: map[string]any{"groups": groups}}
}

// DirectoryGroupID identifies a directory group.
type DirectoryGroupID string

// DirectoryGroup is a group of an org's directory (RFC 7643, section 4.2). The claim rules decide what its people get:
// it is not a workspace group.
type DirectoryGroup struct {
	ID         DirectoryGroupID
	Org        identity.OrgID
	Name       string // 1 to MaxDirectoryText bytes, unique in the org without regard to case
	ExternalID string
	People     []identity.UserID // by id; not in lists
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// NewDirectoryGroup returns a group.
func NewDirectoryGroup(
	by identity.Actor, name, external string, people []identity.UserID,
) (*DirectoryGroup, error) {
	g := &DirectoryGroup{ID: DirectoryGroupID(id.New("dgr")), Org: by.Org, CreatedAt: by.At}
	return g, g.Change(by, name, external, people)
}

// Change replaces the directory's data about g.
func (g *DirectoryGroup) Change(by identity.Actor, name, external string, people []identity.UserID) error {
	var faults fault.Fields
	directoryText(&faults, "/displayName", name, true)
	directoryText(&faults, "/externalId", external, false)
	people = slices.Clone(people)
	slices.Sort(people)
	if people = slices.Compact(people); len(people) > MaxDirectoryPeople {
		faults.Add("/members", "too_many_items", "A group has at most 10,000 people.")
	}
	if err := faults.Err(); err != nil {
		return err
	}
	g.Name, g.ExternalID, g.People, g.UpdatedAt = name, external, people, by.At
	return nil
}

// DirectoryRules returns a digest of the claim rules, and the claim of groups, that apply to people of org's directory.
func DirectoryRules(org *identity.Org) string {
	var rules []identity.ClaimRule
	for _, r := range org.ClaimRules {
		if r.Issuer == identity.SCIMIssuer {
			rules = append(rules, r)
		}
	}
	var groups identity.GroupClaim
	if org.GroupClaim.Issuer == identity.SCIMIssuer {
		groups = org.GroupClaim
	}
	sum := sha256.Sum256(fmt.Append(nil, rules, groups))
	return hex.EncodeToString(sum[:8])
}
