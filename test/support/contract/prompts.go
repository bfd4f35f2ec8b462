package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Prompts is the suite for ports.Prompts.
func Prompts(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Add and Get", func(t *testing.T) { promptReads(t, a) })
	t.Run("names", func(t *testing.T) { promptNames(t, a) })
	t.Run("other workspaces and orgs", func(t *testing.T) { promptStrangers(t, a) })
	t.Run("Update", func(t *testing.T) { promptUpdates(t, a) })
	t.Run("versions", func(t *testing.T) { promptVersions(t, a) })
	t.Run("includes", func(t *testing.T) { promptIncludes(t, a) })
	t.Run("references", func(t *testing.T) { promptReferences(t, a) })
	t.Run("labels", func(t *testing.T) { promptLabels(t, a) })
	t.Run("rollouts", func(t *testing.T) { promptRollouts(t, a) })
	t.Run("races", func(t *testing.T) { promptRaces(t, a) })
	t.Run("activation requests", func(t *testing.T) { promptRequests(t, a) })
	t.Run("reads", func(t *testing.T) { promptReadCounts(t, a) })
	t.Run("feedback", func(t *testing.T) { promptFeedback(t, a) })
	t.Run("members", func(t *testing.T) { promptMembers(t, a) })
}

func promptReads(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{
		Name: "Ärger/Straße 50%", Type: prompt.Chat, Description: "line one\nline two",
		Tags:     []string{`say "hi"`, "a,b", "ä"},
		Metadata: json.RawMessage(`{"n": 12345678901234567890, "deep": {"x": [1.0]}}`), Visibility: access.Workspace,
		Protected: true, Compatibility: prompt.Backward, Approvals: 3, RequiredChecks: []string{"eval", "lint"},
		Thresholds: []prompt.Threshold{{Name: "cost", AtMost: new(0.25)}, {Name: "eval", AtLeast: new(0.9)}},
	})

	t.Run("Get returns what Add was given", func(t *testing.T) {
		got, err := a.Prompts.Get(ctx, team.Member, template.ID)
		must(t, err)
		same(t, "template", got, template)
	})
	t.Run("times come back to the microsecond, in UTC", func(t *testing.T) {
		got, err := a.Prompts.Get(ctx, team.Member, template.ID)
		must(t, err)
		if got.CreatedAt != fixture.At || got.UpdatedAt != fixture.At {
			t.Fatalf("times = %v, %v; want %v", got.CreatedAt, got.UpdatedAt, fixture.At)
		}
		if got.DeletedAt != (time.Time{}) || got.Active.At != (time.Time{}) {
			t.Fatalf("times that never were = %v, %v", got.DeletedAt, got.Active.At)
		}
	})
	t.Run("a template without tags and metadata is read without them", func(t *testing.T) {
		plain := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "plain"})
		got, err := a.Prompts.Get(ctx, team.Member, plain.ID)
		must(t, err)
		if got.Tags != nil || got.Metadata != nil {
			t.Fatalf("tags = %#v, metadata = %q", got.Tags, got.Metadata)
		}
	})
	t.Run("Get returns a template without access control, for any user", func(t *testing.T) {
		nobody := identity.Actor{Org: team.Org, Workspace: team.Workspace.ID, User: "usr_nobody"}
		got, err := a.Prompts.Get(ctx, nobody, template.ID)
		must(t, err)
		same(t, "template", got, template)
	})
	t.Run("Add stores the recorded events", func(t *testing.T) {
		same(t, "events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(template.ID))),
			[]string{"prompt_template.created"})
	})
	t.Run("a template is loaded with the caller's share only", func(t *testing.T) {
		end := fixture.At.Add(time.Hour)
		fixture.Share(t, a.Stores, team.Member, template.ID, prompt.Grant{User: team.Peer.User, Role: access.Editor,
			ExpiresAt: end})
		fixture.Share(t, a.Stores, team.Member, template.ID, prompt.Grant{User: team.Viewer.User, Role: access.Viewer})
		for name, get := range map[string]func(by identity.Actor) (access.Grants, error){
			"Get": func(by identity.Actor) (access.Grants, error) {
				got, err := a.Prompts.Get(ctx, by, template.ID)
				return got.Grants, err
			},
			"GetVersionByName": func(by identity.Actor) (access.Grants, error) {
				got, _, err := a.Prompts.GetVersionByName(ctx, by, template.Name, prompt.Ref{Active: true})
				return got.Grants, err
			},
			"GetVersion": func(by identity.Actor) (access.Grants, error) {
				got, _, err := a.Prompts.GetVersion(ctx, by, template.ID, prompt.Ref{Active: true})
				return got.Grants, err
			},
			"Update": func(by identity.Actor) (access.Grants, error) {
				got, err := a.Prompts.Update(ctx, by, template.ID, func(*prompt.Template) error { return nil })
				return got.Grants, err
			},
		} {
			got, err := get(team.Peer)
			must(t, err)
			same(t, name+": grants", got, access.Grants{{User: team.Peer.User, Role: access.Editor, ExpiresAt: end}})
			got, err = get(team.Member)
			must(t, err)
			same(t, name+": the owner's grants", got, access.Grants(nil))
		}
	})
	t.Run("OwnerLeft is set if the owner is no longer a member", func(t *testing.T) {
		rest := fixture.Template(t, a.Stores, team.Gone, prompt.Draft{Name: "left behind"})
		for id, want := range map[prompt.ID]bool{rest.ID: true, template.ID: false} {
			if got, err := a.Prompts.Get(ctx, team.Owner, id); err != nil || got.OwnerLeft != want {
				t.Errorf("OwnerLeft = %v, %v; want %v", got.OwnerLeft, err, want)
			}
		}
	})
	t.Run("GetVersionByName ignores case", func(t *testing.T) {
		got, _, err := a.Prompts.GetVersionByName(ctx, team.Member, "äRGER/sTRAßE 50%", prompt.Ref{})
		must(t, err)
		if got.ID != template.ID {
			t.Fatalf("found %q", got.Name)
		}
	})
}

func promptNames(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	add := func(by identity.Actor, name string) error {
		template, err := prompt.New(by, prompt.Draft{Name: name})
		must(t, err)
		return a.Prompts.Add(ctx, template)
	}
	rename := func(id prompt.ID, target string) error {
		_, err := a.Prompts.Update(ctx, team.Member, id, func(t *prompt.Template) error {
			return t.Change(team.Member, nil, prompt.Changes{Name: &target}, prompt.Recipient{})
		})
		return err
	}
	first := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "Straße/ÄÖÜ"})

	t.Run("names are unique regardless of case", func(t *testing.T) {
		wantErr(t, add(team.Peer, "straße/äöü"), prompt.ErrNameTaken)
	})
	t.Run("names are unique per workspace", func(t *testing.T) { must(t, add(other.Member, "Straße/ÄÖÜ")) })
	t.Run("a template can be renamed to another case of its name",
		func(t *testing.T) { must(t, rename(first.ID, "STRASSE/ÄÖÜ")) })
	t.Run("a change to a taken name is refused and not stored", func(t *testing.T) {
		second := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "second"})
		previous := keptOf(t, a.Stores, team.Member, second.ID)
		wantErr(t, rename(second.ID, "strasse/äöü"), prompt.ErrNameTaken)
		same(t, "template", keptOf(t, a.Stores, team.Member, second.ID), previous)
	})
	t.Run("a deleted template's name is free, and the template cannot be restored while another has it",
		func(t *testing.T) {
			goneTemplate := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "short-lived"})
			fixture.Delete(t, a.Stores, team.Member, goneTemplate.ID)
			byName := func() (*prompt.Reading, error) {
				got, _, err := a.Prompts.GetVersionByName(ctx, team.Member, "short-lived", prompt.Ref{Latest: true})
				return got, err
			}
			if _, err := byName(); !errors.Is(err, prompt.ErrNotFound) {
				t.Fatalf("the name of a deleted one: %v", err)
			}
			heir := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "Short-Lived"})
			if got, err := byName(); err != nil || got.ID != heir.ID {
				t.Fatalf("the name of its heir: %+v, %v", got, err)
			}
			restore := func() error {
				_, err := a.Prompts.Update(ctx, team.Member, goneTemplate.ID,
					func(t *prompt.Template) error { return t.Restore(team.Member) })
				return err
			}
			wantErr(t, restore(), prompt.ErrNameTaken)
			if got, err := a.Prompts.Get(ctx, team.Member, goneTemplate.ID); err != nil || got.DeletedAt != fixture.At {
				t.Fatalf("a deleted template: %+v, %v", got, err)
			}
			must(t, rename(heir.ID, "heir"))
			must(t, restore())
		})
}

// promptStrangers calls every method for templates that the workspace never had.
func promptStrangers(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	other := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "ours"})
	v := fixture.Version(t, a.Stores, team.Member, other.ID, "text", "live")
	previous := keptOf(t, a.Stores, team.Member, other.ID)
	elsewhere := team.Member
	elsewhere.Workspace = fixture.NewTeam(t, a.Stores, a.Orgs[0]).Workspace.ID

	for _, tt := range []struct {
		name string
		by   identity.Actor
		id   prompt.ID
	}{
		{"a template that never was", team.Member, "ptpl_00000000000000000000000000"},
		{"another workspace's, though the caller owns it", elsewhere, other.ID},
		{"another org's", fixture.NewTeam(t, a.Stores, a.Orgs[1]).Owner, other.ID},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refuse := func() error { t.Error("change was called"); return nil }
			for method, call := range map[string]func() error{
				"Get": func() error { _, err := a.Prompts.Get(ctx, tt.by, tt.id); return err },
				"GetVersion": func() error {
					_, _, err := a.Prompts.GetVersion(ctx, tt.by, tt.id, prompt.Ref{ID: v.ID})
					return err
				},
				"GetVersion of the latest": func() error {
					_, _, err := a.Prompts.GetVersion(ctx, tt.by, tt.id, prompt.Ref{Latest: true})
					return err
				},
				"GetVersionByName": func() error {
					name := "ours"
					if tt.id != other.ID {
						name = "never was"
					}
					_, _, err := a.Prompts.GetVersionByName(ctx, tt.by, name, prompt.Ref{ID: v.ID})
					return err
				},
				"UpdateFor": func() error {
					_, err := a.Prompts.UpdateFor(ctx, tt.by, tt.id, "usr",
						func(*prompt.Template, prompt.Recipient) error { return refuse() })
					return err
				},
				"Update": func() error {
					_, err := a.Prompts.Update(ctx, tt.by, tt.id, func(*prompt.Template) error { return refuse() })
					return err
				},
				"Lock": func() error {
					_, _, err := a.Prompts.Lock(ctx, tt.by, tt.id, prompt.Ref{ID: v.ID})
					return err
				},
				"UpdateVersion": func() error {
					_, err := a.Prompts.UpdateVersion(ctx, tt.by, tt.id, prompt.Ref{ID: v.ID},
						func(*prompt.Template, *prompt.VersionInfo) error { return refuse() })
					return err
				},
				"EditVersion": func() error {
					_, err := a.Prompts.EditVersion(ctx, tt.by, tt.id, prompt.Ref{ID: v.ID},
						func(*prompt.Template, *prompt.Version, prompt.Labels) error { return refuse() })
					return err
				},
				"AddVersion": func() error {
					return a.Prompts.AddVersion(ctx, tt.by, tt.id,
						func(*prompt.Template, prompt.Labels) (*prompt.Version, error) { return nil, refuse() })
				},
			} {
				if err := call(); !errors.Is(err, prompt.ErrNotFound) {
					t.Errorf("%s: error = %v, want ErrNotFound", method, err)
				}
			}
			same(t, "template", keptOf(t, a.Stores, team.Member, other.ID), previous)
		})
	}
}

func promptUpdates(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := fixture.Later(team.Member, time.Minute)

	t.Run("Update stores and returns the changed template", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "before"})
		current, err := a.Prompts.Update(ctx, by, template.ID, func(t *prompt.Template) error {
			return t.Change(by, nil, prompt.Changes{
				Name: new("after"), Description: new("d"), Tags: new([]string{"x"}),
				Metadata:   func(json.RawMessage) json.RawMessage { return json.RawMessage(`{"a":1}`) },
				Visibility: new(access.Workspace), Protected: new(true), Compatibility: new(prompt.Backward),
			}, prompt.Recipient{})
		})
		must(t, err)
		got, err := a.Prompts.Get(ctx, by, template.ID)
		must(t, err)
		same(t, "template", got, current)
		if got.Name != "after" || got.Revision != 2 || got.UpdatedAt != by.At || got.CreatedAt != fixture.At {
			t.Fatalf("got %+v", got)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(template.ID))),
			[]string{"prompt_template.updated", "prompt_template.created"})
	})
	t.Run("a change without an event is not stored", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "silent"})
		_, err := a.Prompts.Update(ctx, by, template.ID, func(t *prompt.Template) error {
			t.Name = "nobody recorded it"
			return nil
		})
		must(t, err)
		if got, err := a.Prompts.Get(ctx, by, template.ID); err != nil || got.Name != "silent" {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
	t.Run("UpdateFor passes what is known of the user, and deletes a share with role None", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "shared"})
		grantedShare := prompt.Share{User: team.Peer.User, Role: access.Manager, ExpiresAt: fixture.At.Add(time.Hour),
			GrantedBy: team.Member.User, Revision: 1, CreatedAt: fixture.At, UpdatedAt: fixture.At}
		fixture.Share(t, a.Stores, team.Member, template.ID,
			prompt.Grant{User: grantedShare.User, Role: grantedShare.Role, ExpiresAt: grantedShare.ExpiresAt})
		fixture.Share(t, a.Stores, team.Member, template.ID, prompt.Grant{User: team.Viewer.User, Role: access.Viewer})
		for _, want := range []prompt.Recipient{
			{User: grantedShare.User, InWorkspace: true, Share: &grantedShare, Shares: 2},
			{User: team.Admin.User, InWorkspace: true, Shares: 2}, {User: team.Gone.User, Shares: 2},
		} {
			_, err := a.Prompts.UpdateFor(ctx, by, template.ID, want.User,
				func(_ *prompt.Template, got prompt.Recipient) error {
					if got.InWorkspace && (got.Name == "" || !strings.HasPrefix(got.Email, got.Name+"@")) {
						t.Errorf("%q <%s> is not the user", got.Name, got.Email)
					}
					if got.Share != nil {
						same(t, "name and address of the share", []string{got.Share.Name, got.Share.Email},
							[]string{got.Name, got.Email})
						got.Share.Name, got.Share.Email = "", ""
					}
					got.Name, got.Email = "", ""
					same(t, "user", got, want)
					return nil
				})
			must(t, err)
		}
		_, err := a.Prompts.UpdateFor(ctx, by, template.ID, team.Peer.User,
			func(p *prompt.Template, peer prompt.Recipient) error {
				return p.Unshare(by, nil, peer)
			})
		must(t, err)
		rest := keptOf(t, a.Stores, by, template.ID).Shares
		if len(rest) != 1 || rest[0].User != team.Viewer.User {
			t.Fatalf("shares = %+v", rest)
		}
	})
	t.Run("nothing is saved if change fails", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "whole"})
		fixture.Version(t, a.Stores, team.Member, template.ID, "one", "live")
		fixture.Version(t, a.Stores, team.Member, template.ID, "two")
		previous := keptOf(t, a.Stores, by, template.ID)
		for method, call := range map[string]func() error{
			"Update": func() error {
				_, err := a.Prompts.UpdateFor(ctx, by, template.ID, team.Peer.User,
					func(p *prompt.Template, peer prompt.Recipient) error {
						_, err := p.Share(by, peer, prompt.Grant{User: team.Peer.User, Role: access.Viewer})
						return errors.Join(err, p.Delete(by, nil), errBoom)
					})
				return err
			},
			"UpdateVersion": func() error {
				_, err := a.Prompts.UpdateVersion(ctx, by, template.ID, prompt.Ref{Number: 2},
					func(p *prompt.Template, v *prompt.VersionInfo) error {
						return errors.Join(p.Activate(by, nil, v, nil, "why"), errBoom)
					})
				return err
			},
			"EditVersion": func() error {
				_, err := a.Prompts.EditVersion(ctx, by, template.ID, prompt.Ref{Number: 2},
					func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
						return errors.Join(p.ChangeVersion(by, nil, v,
							prompt.VersionChanges{Labels: new([]string{"live"})}, usedLabels), errBoom)
					})
				return err
			},
			"AddVersion": func() error {
				return a.Prompts.AddVersion(ctx, by, template.ID,
					func(p *prompt.Template, usedLabels prompt.Labels) (*prompt.Version, error) {
						v, err := p.AddVersion(by, prompt.VersionDraft{Content: prompt.Content{Text: "three"},
							Labels: []string{"live"}}, usedLabels)
						return v, errors.Join(err, errBoom)
					})
			},
		} {
			err := call()
			if !errors.Is(err, errBoom) || errors.Is(err, prompt.ErrForbidden) {
				t.Errorf("%s: error = %v, want boom alone", method, err)
			}
			same(t, "after "+method, keptOf(t, a.Stores, by, template.ID), previous)
		}
	})
	t.Run("a transfer deletes the new owner's share and gives the old owner one", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "handed over"})
		fixture.Share(t, a.Stores, team.Member, template.ID, prompt.Grant{User: team.Peer.User, Role: access.Viewer})
		_, err := a.Prompts.UpdateFor(ctx, by, template.ID, team.Peer.User,
			func(p *prompt.Template, peer prompt.Recipient) error {
				return p.Change(by, nil, prompt.Changes{Owner: &peer.User}, peer)
			})
		must(t, err)
		k := keptOf(t, a.Stores, team.Peer, template.ID)
		users := fmt.Sprint(slices.Collect(func(yield func(identity.UserID) bool) {
			for _, s := range k.Shares {
				yield(s.User)
			}
		}))
		if k.Template.Owner != team.Peer.User || users != fmt.Sprint([]identity.UserID{team.Member.User}) {
			t.Fatalf("owner = %s, shares = %s", k.Template.Owner, users)
		}
	})
}
