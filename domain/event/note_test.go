package event_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

var ann = identity.Actor{
	Org: "org", Workspace: "acme", User: "ann", Key: "key", Role: identity.Member, Ceiling: identity.Member, At: began,
	Request: identity.Request{ID: "req", Address: "192.0.2.1"},
}

func TestRefusedNamesTheCodesThatMatter(t *testing.T) {
	code := func(code string) error { return &fault.Error{Kind: fault.Forbidden, Code: code, Detail: "No."} }
	nowhere, system := ann, identity.System("org", "acme", "test", began)
	nowhere.Workspace = ""
	for name, tt := range map[string]struct {
		by      identity.Actor
		deletes bool
		err     error
		want    bool
	}{
		"a role above the caller's":            {ann, false, identity.ErrRoleCeiling, true},
		"the same with another detail":         {ann, false, identity.ErrRoleCeiling.Because("Less."), true},
		"a personal key where there are none":  {ann, false, code("personal_keys_forbidden"), true},
		"detaching what another person owns":   {ann, true, code("not_source_owner"), true},
		"payments":                             {ann, false, code("billing_role_required"), true},
		"inviting somebody from outside":       {ann, false, code("invitation_role_required"), true},
		"deleting without the role":            {ann, true, identity.ErrForbidden, true},
		"changing without the role":            {ann, false, identity.ErrForbidden, false},
		"revoking the connection of another":   {ann, true, code("connection_forbidden"), true},
		"using the connection of another":      {ann, false, code("connection_forbidden"), false},
		"deleting a source":                    {ann, true, code("source_forbidden"), true},
		"deleting a prompt template":           {ann, true, code("prompt_template_forbidden"), true},
		"deleting a chat template":             {ann, true, code("chat_template_forbidden"), true},
		"a sheet that its host does not share": {ann, true, code("sheet_not_shared"), false},
		"signing up, which is no workspace's":  {nowhere, false, code("sign_up_closed"), false},
		"a refusal outside of any workspace":   {nowhere, false, identity.ErrRoleCeiling, false},
		"a refusal of the system itself":       {system, false, identity.ErrRoleCeiling, false},
		"what is not there":                    {ann, true, identity.ErrWorkspaceNotFound, false},
		"the same code with another kind": {ann, true, &fault.Error{Kind: fault.NotFound, Code: "forbidden"},
			false},
		"what Atrium did not foresee":        {ann, true, errors.New("boom"), false},
		"no error":                           {ann, true, nil, false},
		"a refusal that another error wraps": {ann, false, errors.Join(identity.ErrRoleCeiling), true},
	} {
		t.Run(name, func(t *testing.T) {
			n := event.Refused(tt.by, "deleteThing", tt.deletes, tt.err)
			if n.IsRecordable() != tt.want {
				t.Fatalf("worth a note: %v, want %v: %+v", n.IsRecordable(), tt.want, n)
			}
		})
	}
	n := event.Refused(ann, "createAPIKey", false, identity.ErrRoleCeiling)
	events := n.Events()
	require.Equal(t, "events", len(events), 1)
	want := event.Event{
		ID: events[0].ID, Org: "org", Workspace: "acme", Type: "access.refused", Actor: "ann", Key: "key",
		Subject: "ann",
		Data:    map[string]any{"code": "role_ceiling", "operation": "createAPIKey"}, At: began, Request: ann.Request,
	}
	if !reflect.DeepEqual(events[0], want) {
		t.Errorf("the event is %+v, want %+v", events[0], want)
	}
	if end := time.Date(2026, 3, 14, 16, 0, 0, 0, time.UTC); !n.Until.Equal(end) {
		t.Errorf("until %v, want %v", n.Until, end)
	}
}

func TestEqualNotesHaveOneKey(t *testing.T) {
	hash := func(change func(*identity.Actor), operation string, err error) [32]byte {
		by := ann
		change(&by)
		n := event.Refused(by, operation, true, err)
		return n.Key()
	}
	first := hash(func(*identity.Actor) {}, "one", identity.ErrRoleCeiling)
	for name, tt := range map[string]struct {
		key   [32]byte
		equal bool
	}{
		"another operation": {hash(func(*identity.Actor) {}, "two", identity.ErrRoleCeiling), true},
		"another key": {hash(func(by *identity.Actor) { by.Key = "other" }, "one", identity.ErrRoleCeiling),
			true},
		"a later moment": {hash(func(by *identity.Actor) { by.At = began.Add(time.Hour) }, "one",
			identity.ErrRoleCeiling), true},
		"another code": {hash(func(*identity.Actor) {}, "one", identity.ErrForbidden), false},
		"another person": {hash(func(by *identity.Actor) { by.User = "bob" }, "one", identity.ErrRoleCeiling),
			false},
		"another workspace": {hash(func(by *identity.Actor) { by.Workspace = "other" }, "one", identity.ErrRoleCeiling),
			false},
		"another org": {hash(func(by *identity.Actor) { by.Org = "other" }, "one", identity.ErrRoleCeiling),
			false},
		"parts cut elsewhere": {hash(func(by *identity.Actor) { by.User, by.Org = "", "organn" }, "one",
			identity.ErrRoleCeiling), false},
	} {
		if (tt.key == first) != tt.equal {
			t.Errorf("%s: equal is %v, want %v", name, tt.key == first, tt.equal)
		}
	}
}

func TestPeriodsEndInUTC(t *testing.T) {
	now := time.Date(2026, 3, 14, 23, 30, 0, 0, time.FixedZone("", 5*3600+1800)) // 18:00 UTC
	if got, want := event.EndOfHour(now), time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC); got != want {
		t.Errorf("the hour ends %v, want %v", got, want)
	}
	if got, want := event.EndOfDay(now), time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC); got != want {
		t.Errorf("the day ends %v, want %v", got, want)
	}
}
