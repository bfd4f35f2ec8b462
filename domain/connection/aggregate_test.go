package connection_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	start = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	maker  = actor("ann", identity.Member)
	admin  = actor("ada", identity.Admin)
	peer   = actor("pia", identity.Member)
	viewer = actor("vic", identity.Viewer)
	system = identity.System("org", "acme", "test", start)
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: start}
}

func credential(t *testing.T, fields string) connection.Credential {
	t.Helper()
	c, err := connection.ParseCredential(connection.Postgres,
		[]byte(`{"host": "db.example.com", "database": "shop", "username": "reader"`+fields+`}`))
	require.NoError(t, err)
	return c
}

// trial returns a trial that passed, or failed with code.
func trial(t *testing.T, total int64, fresh bool, code connection.Code) connection.Trial {
	t.Helper()
	tr := connection.Trial{ID: "con_1", Of: total, At: start.Add(time.Minute)}
	if fresh {
		tr.New = &connection.NewCredential{Credential: credential(t, `, "password": "pw"`), Sealed: []byte("sealed"),
			Fingerprint: "f1"}
	}
	if code == "" {
		tr.Report = connection.Report{Server: connection.Server{Product: "PostgreSQL", Version: "15"}}
		for _, s := range connection.Steps() {
			tr.Report.Checks = append(tr.Report.Checks, connection.Check{Step: s, Result: connection.OK})
		}
		return tr
	}
	tr.Report = connection.FailedAt(connection.Authenticate, code)
	return tr
}

// made returns ann's connection, active, with nothing recorded yet.
func made(t *testing.T) *connection.Connection {
	t.Helper()
	c, err := connection.New(maker, trial(t, 0, true, ""), 0)
	require.NoError(t, err)
	c.Log, c.Sealed = event.Log{}, nil
	return c
}

func recorded(c *connection.Connection) string {
	var kinds []string
	for _, e := range c.Recorded() {
		kinds = append(kinds, strings.TrimPrefix(e.Type, "connection."))
	}
	return strings.Join(kinds, " ")
}

func TestAccess(t *testing.T) {
	c := made(t)
	reading := admin
	reading.Ceiling = identity.Viewer
	elsewhere := admin
	elsewhere.Workspace = "other"
	makerNow := maker
	makerNow.Role = identity.Viewer
	for name, tt := range map[string]struct {
		by   identity.Actor
		want connection.Access
	}{
		"nobody":                                   {identity.Actor{}, connection.None},
		"somebody of another workspace":            {elsewhere, connection.None},
		"who has no role here":                     {actor("sam", identity.NoRole), connection.None},
		"a viewer sees it":                         {viewer, connection.See},
		"an admin's key for viewing sees it":       {reading, connection.See},
		"a member uses it":                         {peer, connection.Use},
		"its creator manages it":                   {maker, connection.Manage},
		"its creator manages it as a viewer too":   {makerNow, connection.Manage},
		"an admin manages it":                      {admin, connection.Manage},
		"the system manages it":                    {system, connection.Manage},
		"a caller without a user is not the maker": {actor("", identity.Member), connection.Use},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "Access", c.Access(tt.by), tt.want)
		})
	}
	t.Run("a connection that the system made is no member's own", func(t *testing.T) {
		c.CreatedBy = ""
		assert.Equal(t, "Access", c.Access(actor("", identity.Viewer)), connection.See)
	})
}

func TestNew(t *testing.T) {
	t.Run("a trial that passed becomes an active connection", func(t *testing.T) {
		got, err := connection.New(maker, trial(t, 0, true, ""), connection.MaxLive-1)
		require.NoError(t, err)
		if got.Status != connection.Active || got.Name != "PostgreSQL db.example.com shop" || got.Fingerprint != "f1" ||
			string(got.Sealed) != "sealed" ||
			got.CredentialRevision != 1 || got.Revision != 1 || got.LastVerifiedAt != start.Add(time.Minute) ||
			got.CreatedBy != "ann" || got.Failure() != nil {
			t.Errorf("%+v", got)
		}
		if config := string(got.Config); cmp.Diff([]string{"password"}, got.Secrets) != "" ||
			strings.Contains(config, "password") || !strings.Contains(config, `"host":"db.example.com"`) {
			t.Errorf("secrets %v, config %s", got.Secrets, config)
		}
		e := got.Recorded()[0]
		if recorded(got) != "created" || strings.Contains(fmt.Sprint(e.Data), "pw") {
			t.Errorf("recorded %+v", e)
		}
	})
	t.Run("one that failed does not", func(t *testing.T) {
		_, err := connection.New(maker, trial(t, 0, true, connection.AuthFailed), 0)
		require.ErrorIs(t, err, connection.ErrProbeFailed)
		var e *connection.ProbeError
		if !errors.As(err, &e) || e.Failure.Code != connection.AuthFailed || e.Failure.Hint == "" ||
			len(e.Checks) != len(connection.Steps()) {
			t.Errorf("%+v", e)
		}
	})
	for name, tt := range map[string]struct {
		by     identity.Actor
		others int
		want   error
	}{
		"viewers make none":              {viewer, 0, connection.ErrForbidden},
		"the fiftieth is the last":       {maker, connection.MaxLive, connection.ErrLimitReached},
		"nor do strangers":               {actor("sam", identity.NoRole), 0, connection.ErrForbidden},
		"who may not is told that first": {viewer, connection.MaxLive, connection.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connection.New(tt.by, trial(t, 0, true, ""), tt.others)
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("a name is kept", func(t *testing.T) {
		tr := trial(t, 0, true, "")
		tr.Name = "The shop"
		if c, _ := connection.New(maker, tr, 0); c.Name != "The shop" {
			t.Errorf("name %q", c.Name)
		}
	})
	for name, problem := range map[string]string{"too long": strings.Repeat("ü", 121), "with a line break": "a\nb",
		"not UTF-8": "\xff"} {
		t.Run("a name that is "+name, func(t *testing.T) {
			require.ErrorIs(t, connection.Draft{Name: problem}.Check(), fault.ErrInvalid)
		})
	}
	t.Run("a name of 120 letters is fine", func(t *testing.T) {
		require.NoError(t, connection.Draft{Name: strings.Repeat("ü", 120)}.Check())
	})
}

func TestVerify(t *testing.T) {
	revoke := func(t *testing.T) *connection.Connection {
		c := made(t)
		require.NoError(t, c.Revoke(maker, nil))
		c.Log = event.Log{}
		return c
	}
	failing := func(t *testing.T) *connection.Connection {
		c := made(t)
		c.Check(system, trial(t, 1, false, connection.AuthFailed))
		c.Log = event.Log{}
		return c
	}
	for name, tt := range map[string]struct {
		of     func(*testing.T) *connection.Connection
		by     identity.Actor
		fresh  bool
		rev    int64
		code   connection.Code
		others int
		want   error
		status connection.Status
		events string
	}{
		"a member verifies it as it is": {made, peer, false, 1, "", 0, nil, connection.Active,
			"verified"},
		"one that fails is failing at once": {made, peer, false, 1, connection.ConnectTimeout, 0, nil,
			connection.Failing, "verified failing"},
		"it recovers": {failing, peer, false, 1, "", 0, nil, connection.Active,
			"verified recovered"},
		"it goes on failing": {failing, peer, false, 1, connection.AuthFailed, 0, nil,
			connection.Failing, "verified"},
		"viewers do not": {made, viewer, false, 1, "", 0, connection.ErrForbidden,
			connection.Active, ""},
		"strangers are told nothing": {made, identity.Actor{Workspace: "other", Role: identity.Owner,
			Ceiling: identity.Owner}, false, 1, "", 0, connection.ErrNotFound, connection.Active, ""},
		"a peer gives no new credential": {made, peer, true, 1, "", 0, connection.ErrForbidden,
			connection.Active, ""},
		"its creator does": {made, maker, true, 1, "", 0, nil, connection.Active,
			"credential_replaced"},
		"an admin does, and it recovers": {failing, admin, true, 1, "", 0, nil, connection.Active,
			"credential_replaced recovered"},
		"a new one that fails changes nothing": {failing, admin, true, 1, connection.DNSFailed, 0,
			connection.ErrProbeFailed, connection.Failing, ""},
		"a revoked one needs a new credential": {revoke, maker, false, 2, "", 0, connection.ErrRevoked,
			connection.Revoked, ""},
		"and comes back by it": {revoke, maker, true, 2, "", 0, nil, connection.Active,
			"credential_replaced"},
		"unless there are enough already": {revoke, maker, true, 2, "", connection.MaxLive,
			connection.ErrLimitReached, connection.Revoked, ""},
		"fifty others are no matter to a live one": {made, maker, true, 1, "", connection.MaxLive, nil,
			connection.Active, "credential_replaced"},
		"a trial of a credential that is gone": {failing, peer, false, 0, "", 0, connection.ErrCredentialChanged,
			connection.Failing, ""},
		"one that began before the revocation is one": {revoke, maker, true, 1, "", 0, connection.ErrCredentialChanged,
			connection.Revoked, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.of(t)
			previous := c.CredentialRevision
			err := c.Verify(tt.by, trial(t, tt.rev, tt.fresh, tt.code), tt.others)
			require.ErrorIs(t, err, tt.want)
			if c.Status != tt.status || recorded(c) != tt.events {
				t.Errorf("%s, recorded %q; want %s, %q", c.Status, recorded(c), tt.status, tt.events)
			}
			if isStored := c.Sealed != nil; isStored != (tt.fresh && tt.want == nil) ||
				isStored != (c.CredentialRevision > previous) {
				t.Errorf("a credential to store: %v, revision %d after %d", isStored, c.CredentialRevision, previous)
			}
			if tt.want != nil {
				return
			}
			if f := c.Failure(); (f == nil) != (tt.code == "") ||
				(f != nil && (f.Code != tt.code || f.At != start.Add(time.Minute))) {
				t.Errorf("failure %+v", f)
			}
			if !c.RevokedAt.IsZero() || (c.Status == connection.Active && c.Failures != 0) {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	const passes = connection.Code("")
	for name, tt := range map[string]struct {
		codes  []connection.Code
		status connection.Status
		events string
	}{
		"one that passes changes nothing": {[]connection.Code{passes}, connection.Active, ""},
		"a failure that somebody must mend counts at once": {[]connection.Code{connection.AuthFailed},
			connection.Failing, "failing"},
		"a transient one may pass":                             {[]connection.Code{connection.ConnectTimeout, connection.ConnectTimeout}, connection.Active, ""},
		"the third in a row counts":                            {[]connection.Code{connection.ConnectTimeout, connection.ServerStarting, connection.ConnectTimeout}, connection.Failing, "failing"},
		"only in a row":                                        {[]connection.Code{connection.ConnectTimeout, connection.ConnectTimeout, passes, connection.ConnectTimeout}, connection.Active, ""},
		"what is Atrium's own fault counts as a transient one": {[]connection.Code{connection.Internal, connection.Internal, connection.Internal}, connection.Failing, "failing"},
		"it is said once": {
			[]connection.Code{connection.AuthFailed, connection.AuthFailed, connection.TLSRequired},
			connection.Failing, "failing"},
		"a transient failure does not make a failing one active": {
			[]connection.Code{connection.AuthFailed, connection.ConnectTimeout}, connection.Failing, "failing"},
		"a recovery is said once too": {[]connection.Code{connection.AuthFailed, passes, passes}, connection.Active,
			"failing recovered"},
	} {
		t.Run(name, func(t *testing.T) {
			c := made(t)
			for _, code := range tt.codes {
				c.Check(system, trial(t, 1, false, code))
			}
			if c.Status != tt.status || recorded(c) != tt.events {
				t.Errorf("%s, recorded %q", c.Status, recorded(c))
			}
			if changes := int64(len(c.Recorded())); c.Revision != 1+changes {
				t.Errorf("revision %d after %d changes", c.Revision, changes)
			}
		})
	}
	t.Run("what was found with another credential is forgotten", func(t *testing.T) {
		c := made(t)
		c.Check(system, trial(t, 0, false, connection.AuthFailed))
		if c.Status != connection.Active || c.Failed != "" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a revoked one stays revoked", func(t *testing.T) {
		c := made(t)
		require.NoError(t, c.Revoke(maker, nil))
		c.Check(system, trial(t, c.CredentialRevision, false, ""))
		if c.Status != connection.Revoked {
			t.Errorf("%+v", c)
		}
	})
}

func TestRevoke(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"its creator does":                {maker, nil, nil},
		"an admin does":                   {admin, revision.Match{1}, nil},
		"a peer may not":                  {peer, nil, connection.ErrForbidden},
		"a viewer may not":                {viewer, nil, connection.ErrForbidden},
		"another revision is not meant":   {maker, revision.Match{2}, revision.ErrMismatch},
		"who may not hears no revision":   {peer, revision.Match{2}, connection.ErrForbidden},
		"strangers are told nothing":      {identity.Actor{}, nil, connection.ErrNotFound},
		"an empty condition holds never ": {maker, revision.Match{}, revision.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			c := made(t)
			err := c.Revoke(tt.by, tt.at)
			require.ErrorIs(t, err, tt.want)
			if hasEnded := c.Status == connection.Revoked; hasEnded != (tt.want == nil) {
				t.Fatalf("status %s", c.Status)
			}
			if tt.want == nil && (recorded(c) != "revoked" || c.Secrets != nil || c.Fingerprint != "" ||
				c.CredentialRevision != 2 || c.RevokedAt != start || c.Revision != 2) {
				t.Errorf("%+v", c)
			}
		})
	}
	t.Run("again changes nothing", func(t *testing.T) {
		c := made(t)
		require.NoError(t, c.Revoke(maker, nil))
		require.NoError(t, c.Revoke(admin, nil))
		if c.Revision != 2 || recorded(c) != "revoked" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a failure is over with it", func(t *testing.T) {
		c := made(t)
		c.Check(system, trial(t, 1, false, connection.AuthFailed))
		require.NoError(t, c.Revoke(maker, nil))
		if c.Failure() != nil {
			t.Errorf("failure %+v", c.Failure())
		}
	})
}

func TestTheNextCheckIsSoonerWhileAFailureWaitsToBeConfirmed(t *testing.T) {
	c := made(t)
	for chance, want := range map[float64]time.Duration{0: 324 * time.Minute, 0.5: 6 * time.Hour} {
		if got := c.NextCheck(start, chance).Sub(start).Round(time.Second); got != want {
			t.Errorf("chance %v: %s, want %s", chance, got, want)
		}
	}
	c.Check(system, trial(t, 1, false, connection.ConnectTimeout))
	assert.Equal(t, "NextCheck", c.NextCheck(start, 0.5).Sub(start).Round(time.Second), 10*time.Minute)
	c.Check(system, trial(t, 1, false, connection.AuthFailed))
	assert.Equal(t, "once it is failing", c.NextCheck(start, 0.5).Sub(start).Round(time.Second), 6*time.Hour)
}

func TestWhatIsSealedIsBoundToItsPlace(t *testing.T) {
	seen := map[string]bool{}
	for _, place := range [][]byte{
		connection.Seal("o", "w", "c", "k"), connection.Seal("o2", "w", "c", "k"), connection.Seal("o", "w2", "c", "k"),
		connection.Seal("o", "w", "c2", "k"), connection.Seal("o", "w", "c", "k2"), connection.Seal("ow", "", "c", "k"),
	} {
		if seen[string(place)] {
			t.Errorf("%q stands for two places", place)
		}
		seen[string(place)] = true
	}
}
