package account

import (
	"cmp"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
)

// MaxOverviewItems is the maximum number of items of each kind in an AccessOverview: workspaces, keys, endpoints and
// shares.
const MaxOverviewItems = 1000

// AccessOverview is everything with which a person can act in an org, apart from their sessions and passkeys, and what
// acts for them.
type AccessOverview struct {
	User       User
	Workspaces []WorkspaceAccess // without deleted ones, by slug
	Truncated  bool              // some items are left out
}

// WorkspaceAccess is what a person can do in a workspace, and what acts for them there.
type WorkspaceAccess struct {
	Workspace Workspace // without members
	Member    Member
	Groups    []Group // that the person is in, by name
	Keys      []Key   // as in Powers, without ended ones, the newest first
	Endpoints []NamedEndpoint
	Shares    []HeldShare
}

// NamedEndpoint is an Endpoint that a person, or a program of the person, owns.
type NamedEndpoint struct {
	Kind  EndpointKind
	ID    string
	Name  string // a webhook's URL
	Owner identity.UserID
}

// ShareKind is a kind of what is shared.
type ShareKind string

// The kinds.
const (
	PromptShare       ShareKind = "prompt_template"
	PromptFolderShare ShareKind = "prompt_folder"
	ChatShare         ShareKind = "chat_template"
)

// HeldShare is a share that a person, or a group of the person, has and that has not expired.
type HeldShare struct {
	Kind      ShareKind
	ID        string // of the template, or of the folder's share
	Name      string // a folder's path
	Role      access.Role
	Group     identity.UserID // empty: the person has it
	ExpiresAt time.Time       // zero: never
}

// SourceKind is where a role comes from.
type SourceKind string

// The values of SourceKind.
const (
	DirectRole    SourceKind = "direct"    // an admin or an operator gave it
	GroupRole     SourceKind = "group"     // of the workspace
	ClaimRole     SourceKind = "claim"     // by a claim rule, from the tokens of an issuer
	DirectoryRole SourceKind = "directory" // by a claim rule, from the groups of the directory
)

// RoleSource is one of the places that a role comes from. The role is the highest of them.
type RoleSource struct {
	Kind   SourceKind
	Role   identity.Role   // NoRole: an operator's right
	Group  identity.UserID // if Kind is GroupRole
	Name   string          // of that group; empty if it was deleted
	Issuer string          // if Kind is ClaimRole
}

// Sources returns where the member's role comes from, the highest role first.
func (a *WorkspaceAccess) Sources() []RoleSource {
	var sources []RoleSource
	if a.Member.ByHand != identity.NoRole {
		sources = append(sources, RoleSource{Kind: DirectRole, Role: a.Member.ByHand})
	}
	for key, role := range a.Member.Granted {
		source := ruleSource(key)
		if id := identity.UserID(key); id.IsGroup() {
			source = RoleSource{Kind: GroupRole, Group: id}
			for _, g := range a.Groups {
				if g.ID == id {
					source.Name = g.Name
				}
			}
		}
		source.Role = role
		sources = append(sources, source)
	}
	slices.SortFunc(sources, func(a, b RoleSource) int {
		return cmp.Or(cmp.Compare(b.Role, a.Role), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Issuer, b.Issuer))
	})
	return sources
}

// OperatorSources returns why u is an operator; empty if u is none.
func (u *User) OperatorSources() []RoleSource {
	var sources []RoleSource
	if u.OperatorByHand {
		sources = append(sources, RoleSource{Kind: DirectRole})
	}
	for _, issuer := range u.OperatorBy {
		sources = append(sources, ruleSource(issuer))
	}
	return sources
}

// ruleSource returns the source of what a claim rule for an issuer gives.
func ruleSource(issuer string) RoleSource {
	if issuer == identity.SCIMIssuer {
		return RoleSource{Kind: DirectoryRole}
	}
	return RoleSource{Kind: ClaimRole, Issuer: issuer}
}
