package webhook_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	now   = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	admin = identity.Actor{Org: "org_a", Workspace: "wsp_a", User: "usr_a", Role: identity.Admin,
		Ceiling: identity.Admin, At: now}
)

func draft(change func(*webhook.Draft)) webhook.Draft {
	d := webhook.Draft{URL: "https://app.example.com/hook", Events: []string{"*"}}
	if change != nil {
		change(&d)
	}
	return d
}

func TestAnEndpointIsCheckedWhenItIsMade(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*webhook.Draft)
		wrong  string // the pointer; empty: nothing
	}{
		"a plain one":              {nil, ""},
		"http is for the network":  {func(d *webhook.Draft) { d.URL = "http://10.1.2.3:8080/x?y" }, ""},
		"another scheme":           {func(d *webhook.Draft) { d.URL = "ftp://example.com" }, "/url"},
		"no host":                  {func(d *webhook.Draft) { d.URL = "https:///x" }, "/url"},
		"a password":               {func(d *webhook.Draft) { d.URL = "https://a:b@example.com" }, "/url"},
		"a fragment":               {func(d *webhook.Draft) { d.URL = "https://example.com/#x" }, "/url"},
		"a long URL":               {func(d *webhook.Draft) { d.URL = "https://example.com/" + strings.Repeat("x", 1000) }, "/url"},
		"a long description":       {func(d *webhook.Draft) { d.Description = strings.Repeat("x", 201) }, "/description"},
		"no events":                {func(d *webhook.Draft) { d.Events = nil }, "/events"},
		"a type":                   {func(d *webhook.Draft) { d.Events = []string{"member.added"} }, ""},
		"types of a noun":          {func(d *webhook.Draft) { d.Events = []string{"member.*", "prompt_template.*"} }, ""},
		"a type that there is not": {func(d *webhook.Draft) { d.Events = []string{"member.exploded"} }, "/events"},
		"another form of pattern":  {func(d *webhook.Draft) { d.Events = []string{"mem*"} }, "/events"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := webhook.New(admin, 0, 7, draft(tt.change))
			if tt.wrong == "" {
				if err != nil || e.Place != 7 || e.Secret != 1 || len(e.Recorded()) != 1 {
					t.Errorf("%+v, %v", e, err)
				}
				return
			}
			var f *fault.Error
			if !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Pointer != tt.wrong {
				t.Errorf("the error is %+v", f)
			}
		})
	}
}

func TestOnlyAdminsManageWebhooks(t *testing.T) {
	member := admin
	member.Role = identity.Member
	e, err := webhook.New(admin, 0, 0, draft(nil))
	require.NoError(t, err)
	_, failure := webhook.New(member, 0, 0, draft(nil))
	for name, err := range map[string]error{
		"create": failure, "change": e.Change(member, nil, 0, webhook.Changes{}), "delete": e.Delete(member, nil),
		"rotate": e.Rotate(member, nil, 0),
	} {
		if !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := webhook.New(admin, webhook.MaxEndpoints, 0, draft(nil)); !errors.Is(err, webhook.ErrTooMany) {
		t.Errorf("one too many: %v", err)
	}
	assert.ErrorIs(t, e.Change(admin, revision.Match{9}, 0, webhook.Changes{}), revision.ErrMismatch)
}

func TestPatternsSelectTypes(t *testing.T) {
	for pattern, want := range map[string][]string{
		"*":            {"member.added", "prompt_template.created"},
		"member.*":     {"member.added"},
		"member.added": {"member.added"},
		"prompt.*":     nil,
	} {
		e := webhook.Endpoint{Events: []string{pattern}}
		var got []string
		for _, kind := range []string{"member.added", "prompt_template.created"} {
			if e.Gets(kind) {
				got = append(got, kind)
			}
		}
		assert.EqualSlice(t, pattern+": selects", got, want)
	}
}

func TestASecretSignsForItsGraceAfterARotation(t *testing.T) {
	e, err := webhook.New(admin, 0, 0, draft(nil))
	require.NoError(t, err)
	assert.EqualSlice(t, "before", e.Secrets(now), []int{1})
	require.NoError(t, e.Rotate(admin, nil, 48*time.Hour))
	assert.EqualSlice(t, "within", e.Secrets(now.Add(webhook.MaxGrace-1)), []int{2, 1})
	assert.EqualSlice(t, "after", e.Secrets(now.Add(webhook.MaxGrace)), []int{2})
}

func TestAnEndpointThatFailsIsToldAndThenDisabled(t *testing.T) {
	fails, works := []webhook.Outcome{{Status: 500}}, []webhook.Outcome{{Status: 204}}
	for name, tt := range map[string]struct {
		after    []time.Duration // of each failure
		then     []webhook.Outcome
		status   webhook.Status
		recorded []string
	}{
		"at once":             {[]time.Duration{0}, nil, webhook.Failing, nil},
		"after an hour":       {[]time.Duration{0, time.Hour}, nil, webhook.Failing, []string{"webhook.failing"}},
		"told once":           {[]time.Duration{0, time.Hour, 2 * time.Hour}, nil, webhook.Failing, []string{"webhook.failing"}},
		"within five days":    {[]time.Duration{0, 119 * time.Hour}, nil, webhook.Failing, []string{"webhook.failing"}},
		"after five days":     {[]time.Duration{0, 120 * time.Hour}, nil, webhook.Disabled, []string{"webhook.disabled"}},
		"one that recovers":   {[]time.Duration{0, time.Hour}, works, webhook.Active, []string{"webhook.failing", "webhook.recovered"}},
		"one that is gone":    {nil, []webhook.Outcome{{Status: 410}}, webhook.Disabled, []string{"webhook.disabled"}},
		"a success in a line": {nil, slices.Concat(fails, works, fails), webhook.Failing, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := &webhook.Endpoint{URL: "https://app.example.com/secret", Enabled: true}
			by := admin
			for _, delay := range tt.after {
				by.At = now.Add(delay)
				e.Observe(by, fails)
			}
			e.Observe(by, tt.then)
			var got []string
			for _, r := range e.Recorded() {
				got = append(got, r.Type)
				if r.Data["host"] != "app.example.com" {
					t.Errorf("the event has %v", r.Data)
				}
			}
			if e.Status() != tt.status || !slices.Equal(got, tt.recorded) {
				t.Errorf("%s, %q", e.Status(), got)
			}
		})
	}
}

func TestADeliveryIsRepeatedFor75Hours(t *testing.T) {
	for _, chance := range []float64{0, 0.5, 1} {
		d := (&webhook.Endpoint{}).NewDelivery(event.Event{}, now)
		moment, waitedTime := now, time.Duration(0)
		for n := 1; d.State == webhook.Pending; n++ {
			d.Ended(webhook.Outcome{Status: 500}, moment, chance)
			if d.State == webhook.Pending {
				waitedTime += d.Due.Sub(moment)
				moment = d.Due
			}
		}
		want := time.Duration(float64(75*time.Hour+35*time.Minute+5*time.Second) * (0.8 + 0.4*chance))
		if d.State != webhook.Failed || d.Attempts != 10 || (waitedTime-want).Abs() > time.Microsecond {
			t.Errorf("%s after %d attempts in %s instead of %s", d.State, d.Attempts, waitedTime, want)
		}
	}
	d := (&webhook.Endpoint{}).NewDelivery(event.Event{}, now)
	d.Ended(webhook.Outcome{Status: 429, RetryAfter: time.Hour}, now, 0.5)
	assert.Equal(t, "Retry-After is not respected", d.Due, now.Add(time.Hour))
	d.Ended(webhook.Outcome{Status: 429, RetryAfter: 100 * time.Hour}, now, 0.5)
	assert.Equal(t, "a long Retry-After is respected", d.Due, now.Add(24*time.Hour))
	d.Ended(webhook.Outcome{Status: 200}, now, 0.5)
	assert.Equal(t, "State", d.State, webhook.Delivered)
	if d.Again(now); d.State != webhook.Pending || d.Attempts != 0 {
		t.Errorf("it is %s", d.State)
	}
}

func TestHeadersThatAtriumSetsAreRefused(t *testing.T) {
	multiple := map[string]string{}
	for i := range 11 {
		multiple["X-"+strings.Repeat("a", i+1)] = ""
	}
	for name, tt := range map[string]struct {
		headers map[string]string
		ok      bool
	}{
		"none":              {nil, true},
		"a credential":      {map[string]string{"Authorization": "Bearer x"}, true},
		"a signature":       {map[string]string{"webhook-signature": "x"}, false},
		"a host":            {map[string]string{"Host": "example.com"}, false},
		"one twice":         {map[string]string{"X-A": "1", "x-a": "2"}, false},
		"a name with space": {map[string]string{"X A": "1"}, false},
		"a line break":      {map[string]string{"X-A": "1\r\nHost: x"}, false},
		"a long value":      {map[string]string{"X-A": strings.Repeat("x", 2001)}, false},
		"too many":          {multiple, false},
	} {
		if err := webhook.CheckHeaders(tt.headers); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnotherHostDoesNotGetTheHeadersUnasked(t *testing.T) {
	newEndpoint := func() *webhook.Endpoint {
		e, err := webhook.New(admin, 0, 0, draft(func(d *webhook.Draft) {
			d.Headers, d.Sealed = []string{"X-A"}, []byte("s")
		}))
		require.NoError(t, err)
		return e
	}
	for name, tt := range map[string]struct {
		change webhook.Changes
		ok     bool
	}{
		"the same host":            {webhook.Changes{URL: new("https://app.example.com/other")}, true},
		"another host":             {webhook.Changes{URL: new("https://evil.example.com/hook")}, false},
		"another port":             {webhook.Changes{URL: new("https://app.example.com:8443/hook")}, false},
		"another host, new values": {webhook.Changes{URL: new("https://new.example.com/"), Headers: &[]string{}}, true},
	} {
		if err := newEndpoint().Change(admin, nil, 0, tt.change); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnEndpointWithoutAnOwnerIsConfirmedByAnAdmin(t *testing.T) {
	member, service, other := admin, admin, admin
	member.Role, service.Service, other.User = identity.Member, true, "usr_b"
	for name, tt := range map[string]struct {
		by       identity.Actor
		at       revision.Match
		owned    bool
		wrong    error
		owner    identity.UserID
		recorded int // events besides the creation
	}{
		"an admin":                      {other, revision.Match{1}, false, nil, "usr_b", 1},
		"who saw another revision":      {other, revision.Match{2}, false, revision.ErrMismatch, "usr_a", 0},
		"a member":                      {member, nil, false, identity.ErrForbidden, "usr_a", 0},
		"a service key":                 {service, nil, false, identity.ErrForbidden, "usr_a", 0},
		"one that has an owner: no one": {other, nil, true, nil, "usr_a", 0},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := webhook.New(admin, 0, 0, draft(nil))
			if err != nil || e.Owner != "usr_a" || e.Ownerless {
				t.Fatalf("%+v, %v", e, err)
			}
			e.Ownerless = !tt.owned
			assert.ErrorIs(t, e.Confirm(tt.by, tt.at), tt.wrong)
			if e.Owner != tt.owner || len(e.Recorded()) != 1+tt.recorded || e.Revision != int64(1+tt.recorded) ||
				e.Ownerless == (tt.recorded == 1 || tt.owned) {
				t.Errorf("%+v", e)
			}
		})
	}
	t.Run("who changes the URL becomes its owner", func(t *testing.T) {
		e, _ := webhook.New(admin, 0, 0, draft(nil))
		e.Ownerless = true
		target := "https://app.example.com/another"
		if err := e.Change(other, nil, 0, webhook.Changes{URL: &target}); err != nil || e.Owner != "usr_b" ||
			e.Ownerless {
			t.Errorf("%+v, %v", e, err)
		}
	})
}
