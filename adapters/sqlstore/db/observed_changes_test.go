package db_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	core "github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// looker is a process that looks for the changes of another one: a node on PostgreSQL, or a server on SQLite, whose
// connections are as foreign to those of the other pool as to those of a command.
type looker struct {
	there *sqlstore.Store
	owned
	here *sqlstore.Store
	sent *statements.Log // by here
	url  string
}

func newLooker(t *testing.T, url string) *looker {
	t.Helper()
	other, _ := databases.Watched(t, url)
	local, message := databases.Watched(t, url)
	orgs, err := other.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	s := other.Stores()
	team := fixture.NewTeam(t, s, orgs["one"])
	credCredentials, key, session := newCredentials(t, s, team)
	l := &looker{there: other, here: local, sent: message, url: url,
		owned: owned{Stores: s, team: team, credentials: credCredentials, key: key, session: session}}
	l.look(t, time.Now())
	return l
}

// look looks for changes at a time, and returns the generation of a workspace.
func (l *looker) look(t *testing.T, now time.Time) uint64 {
	t.Helper()
	l.here.ObservedGeneration("") // someone reads
	require.NoError(t, l.here.LookForChanges(t.Context(), now))
	generation, _ := l.here.ObservedGeneration(l.team.Workspace.ID)
	return generation
}

// notedTables are the tables of which changes are noted, with the statements that count.
var notedTables = map[string]string{
	"prompt_templates": "DELETE INSERT UPDATE", "prompt_shares": "DELETE INSERT UPDATE",
	"prompt_folder_shares": "DELETE INSERT UPDATE", "user_groups": "DELETE INSERT UPDATE",
	"group_people": "DELETE INSERT UPDATE", "chat_templates": "DELETE INSERT UPDATE",
	"chat_members": "DELETE INSERT UPDATE", "chat_versions": "DELETE INSERT UPDATE",
	"prompt_versions": "DELETE UPDATE", "prompt_labels": "DELETE INSERT UPDATE",
	"prompt_rollouts": "DELETE INSERT UPDATE", "prompt_includes": "DELETE INSERT UPDATE",
	"prompt_references": "DELETE INSERT UPDATE",
	"memberships":       "DELETE INSERT UPDATE", "workspaces": "DELETE UPDATE", "users": "DELETE UPDATE",
	"sign_ins": "DELETE UPDATE", "api_keys": "DELETE UPDATE", "sessions": "DELETE UPDATE",
}

// anyChange is an assignment of a column of each of them. That of a credential has to change something.
var anyChange = map[string]string{
	"prompt_templates": "name = name", "prompt_shares": "access = access", "prompt_folder_shares": "access = access",
	"user_groups": "name = name", "group_people": "user_id = user_id", "chat_templates": "name = name",
	"chat_members": "role = role", "chat_versions": "name = name", "prompt_versions": "text = text",
	"prompt_labels": "label = label", "prompt_rollouts": "slots = slots", "prompt_includes": "ref = ref",
	"prompt_references": "ref = ref",
	"memberships":       "role = role", "workspaces": "name = name", "users": "name = name",
	"sign_ins": "subject = subject || '2'",
	"api_keys": "revoked_at = revoked_at + 1", "sessions": "ended_at = ended_at + 1",
}

func TestALookLearnsOfEveryChangeOnWhichCachesDepend(t *testing.T) {
	l := newLooker(t, databases.Engines["postgres"](t))
	by := l.team.Member
	l.signIn(t, l.Stores)
	template := fixture.Template(t, l.Stores, by, prompt.Draft{})
	version := fixture.Version(t, l.Stores, by, template.ID, "one", "live")
	fixture.Share(t, l.Stores, by, template.ID, prompt.Grant{User: l.team.Peer.User, Role: access.Viewer})
	talk := fixture.Chat(t, l.Stores, by, chat.Draft{})
	fixture.ChatMember(t, l.Stores, by, talk.ID, l.team.Peer.User, access.Viewer)
	newGroup(t, l.Stores, l.team.Admin, "")
	run := func(t *testing.T, statement string, args ...any) {
		t.Helper()
		require.NoError(t, core.Exec(t.Context(), l.there.DB, statement, args...))
	}
	if _, err := l.Groups.Update(t.Context(), l.team.Admin, groupOf(t, l.Stores, l.team),
		[]identity.UserID{by.User}, func(w *account.Workspace, g *account.Group) error {
			return w.AddToGroup(l.team.Admin, g, by.User)
		}); err != nil {
		t.Fatal(err)
	}
	run(t, `INSERT INTO prompt_folder_shares (id, workspace_id, folder, folder_key, user_id, access, expires_at,
		granted_by, revision, created_at, updated_at) VALUES ('pfs_1', ?, 'a', 'a', ?, 1, 0, '', 1, 0, 0)`,
		l.team.Workspace.ID, l.team.Peer.User)
	run(t, `INSERT INTO prompt_rollouts (template_id, label, position, version_id, seed, slots)
		VALUES (?, 'live', 0, ?, '', 1)`, template.ID, version.ID)
	run(t, `INSERT INTO prompt_includes (version_id, template_id, target_id, ref) VALUES (?, ?, ?, 'active')`,
		version.ID, template.ID, template.ID)
	run(t, `INSERT INTO prompt_references (holder_id, prompt_id, ref, workspace_id, version_id, lost_at)
		VALUES (?, ?, 'active', ?, ?, 0)`, talk.ID, template.ID, l.team.Workspace.ID, version.ID)
	const content = `name, description, avatar_url, instructions, prompt_id, prompt_ref,
		agents, tools, capabilities, workflows, model_config, starters, reply, configs, greeting, metadata, theme`
	run(t, `INSERT INTO chat_versions (id, template_id, workspace_id, number, created_by, created_at, `+content+`)
		SELECT 'cver_1', id, workspace_id, 1, '', 0, `+content+` FROM chat_templates WHERE id = ?`, talk.ID)
	for table := range notedTables {
		t.Run(table, func(t *testing.T) {
			previous := l.look(t, time.Now())
			run(t, "UPDATE "+table+" SET "+anyChange[table])
			current := l.look(t, time.Now())
			if current <= previous {
				t.Error("a look has not found the change")
			}
			if second := l.look(t, time.Now()); second != current {
				t.Error("the next look counted the change again")
			}
		})
	}
	t.Run("and each of these statements has a trigger", func(t *testing.T) {
		declaredTexts := map[string][]string{}
		rows, err := databases.Raw(t, l.url).QueryContext(t.Context(), `SELECT event_object_table, event_manipulation
			FROM information_schema.triggers WHERE action_statement LIKE '%note\_%' ORDER BY 1, 2`)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var table, event string
			require.NoError(t, rows.Scan(&table, &event))
			declaredTexts[table] = append(declaredTexts[table], event)
		}
		got := map[string]string{}
		for table, events := range declaredTexts {
			got[table] = strings.Join(events, " ")
		}
		if err := rows.Err(); err != nil || !maps.Equal(got, notedTables) {
			t.Errorf("%v, triggers of %v", err, got)
		}
	})
}

// statementsOf returns how many statements this node runs for f.
func (l *looker) statementsOf(f func()) int {
	l.sent.Take()
	f()
	return len(l.sent.Take())
}

func TestACredentialIsNotReadAgainWhileLooksFindNoChange(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) { testCredentialsWhileLooks(t, newLooker(t, url)) })
}

func testCredentialsWhileLooks(t *testing.T, l *looker) {
	t.Helper()
	stores := l.here.Stores()
	read := func(looks bool) int { // what is two seconds old
		core.AgeCredentials(l.here.DB, 2*time.Second)
		if looks {
			l.look(t, time.Now())
			core.ShiftLastCheck(l.here.DB, proof.Patience) // however slow this machine is
		} else {
			core.ShiftLastCheck(l.here.DB, -2*proof.Patience)
		}
		return l.statementsOf(func() { l.read(t, stores) })
	}
	l.signIn(t, l.Stores)
	all := read(true)
	if all < 3 {
		t.Error("the first read has to read the database")
	}
	assert.Equal(t, "statements, although nothing has changed", read(true), 0)
	use := account.KeyUse{At: time.Now(), Address: "127.0.0.1"}
	require.NoError(t, errors.Join(
		stores.Keys.Used(t.Context(), l.org, map[identity.KeyID]account.KeyUse{l.key.ID: use}),
		stores.Sessions.Used(t.Context(), l.org, map[identity.SessionID]time.Time{l.session.ID: use.At}),
	))
	assert.Equal(t, "statements after a use, which changes nothing", read(true), 0)
	key, err1 := stores.Keys.Principal(t.Context(), l.org, l.token)
	session, err2 := stores.Sessions.Person(t.Context(), l.org, l.cookie)
	if err := errors.Join(err1, err2); err != nil || !key.Key.LastUsedAt.Equal(use.At) ||
		!session.Session.LastSeenAt.Equal(use.At) {
		t.Errorf("%v: the last uses are not known, so that each request would store one", err)
	}
	require.NoError(t, renamePerson(t, l.Stores, l.team.Member))
	assert.Equal(t, "statements after a change on another node", read(true), all)
	assert.Equal(t, "statements without a look in the last second", read(false), all)
	assert.Equal(t, "statements for what was read without a look", read(true), all)
	core.AgeCredentials(l.here.DB, 10*time.Minute)
	assert.Equal(t, "statements after ten minutes", read(true), all)
}

func TestSharesThatEndBetweenTwoLooksCountAsChanges(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, _ := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		ends := time.Now().Add(time.Hour).UTC()
		fixture.Share(t, s, team.Member, fixture.Template(t, s, team.Member, prompt.Draft{}).ID,
			prompt.Grant{User: team.Peer.User, Role: access.Viewer, ExpiresAt: ends})
		look := func(now time.Time) uint64 {
			db.ObservedGeneration(team.Workspace.ID) // someone reads
			require.NoError(t, db.LookForChanges(t.Context(), now))
			n, _ := db.ObservedGeneration(team.Workspace.ID)
			return n
		}
		look(ends.Add(-time.Second))
		number := look(ends.Add(-time.Second)) // on PostgreSQL, what was written before can count until the second look
		if second := look(ends.Add(-time.Microsecond)); second != number {
			t.Error("it counts before its end")
		}
		if current := look(ends.Add(time.Minute)); current <= number {
			t.Error("a share that ended a minute before a look, and after the last one, does not count")
		} else if second := look(ends.Add(time.Minute + time.Second)); second != current {
			t.Error("it still counts at the next look")
		}
	})
}

func TestAShareThatEndsCountsAsAChange(t *testing.T) {
	l := newLooker(t, databases.Engines["postgres"](t))
	ends := time.Now().Add(time.Hour).UTC()
	grant := prompt.Grant{User: l.team.Peer.User, Role: access.Viewer, ExpiresAt: ends}
	fixture.Share(t, l.Stores, l.team.Member, fixture.Template(t, l.Stores, l.team.Member, prompt.Draft{}).ID, grant)
	previous := l.look(t, ends.Add(-time.Second))
	if second := l.look(t, ends.Add(-time.Microsecond)); second != previous {
		t.Error("it counts before its end")
	}
	for _, delay := range []time.Duration{0, time.Second, 4 * time.Second} { // a read that began before may end later
		current := l.look(t, ends.Add(delay))
		if current <= previous {
			t.Errorf("it does not count %v after its end", delay)
		}
		previous = current
	}
	if second := l.look(t, ends.Add(6*time.Second)); second != previous {
		t.Error("it still counts seconds after its end")
	}
}

func TestRowsThatSayWhatHasChangedAreRemoved(t *testing.T) {
	l := newLooker(t, databases.Engines["postgres"](t))
	db := databases.Raw(t, l.url)
	leave := func() (n int) {
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM workspace_changes`).Scan(&n))
		return n
	}
	fixture.Template(t, l.Stores, l.team.Member, prompt.Draft{})
	l.look(t, time.Now())
	if leave() == 0 {
		t.Error("they are removed while other nodes may not have read them")
	}
	old := func() { core.AgeChanges(l.here.DB); l.look(t, time.Now()) }
	// A transaction of another test, in another database of the same server, delays it.
	for start := time.Now(); leave() > 0; old() {
		if time.Since(start) > proof.Patience {
			t.Fatalf("%d rows are left", leave())
		}
	}
	for range 2 {
		old()
	}
	core.AgeChanges(l.here.DB)
	if n := l.statementsOf(func() { l.look(t, time.Now()) }); n != 1 {
		t.Errorf("a look at nothing takes %d statements", n)
	}
}
