// Package webhook holds the endpoints to which a workspace's events are sent, and their deliveries.
package webhook

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Prefix begins an endpoint's identifier.
const Prefix = "whk"

const (
	// MaxEndpoints is a workspace's maximum number of endpoints.
	MaxEndpoints = 20
	// MaxGrace is the maximum time for which a replaced secret can sign beside the new one.
	MaxGrace = 24 * time.Hour

	// failingAfter is the time for which an endpoint fails before an event reports it.
	failingAfter = time.Hour
	// disabledAfter is the time for which an endpoint fails before it is disabled.
	disabledAfter = 5 * 24 * time.Hour
	// SoloFailures is the number of deliveries that fail in a row before an endpoint gets one at a time.
	SoloFailures = 5
)

// Errors about webhooks.
var (
	ErrNotFound = &fault.Error{Kind: fault.NotFound, Code: "webhook_not_found",
		Detail: "The workspace has no such webhook."}
	ErrDeliveryNotFound = &fault.Error{Kind: fault.NotFound, Code: "webhook_delivery_not_found",
		Detail: "The webhook has no such delivery. Deliveries are kept for 30 days."}
	ErrTooMany = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "The workspace already has 20 webhooks. Delete one first."}
	ErrDisabled = &fault.Error{Kind: fault.Conflict, Code: "webhook_disabled",
		Detail: "The webhook is disabled. Enable it first."}
)

// ErrLeaseLost means that another node can be working on an endpoint, since the lease was not renewed in time.
var ErrLeaseLost = errors.New("the lease of a webhook was lost")

// ID identifies an endpoint.
type ID string

// NoticeJob mails the admin who created an endpoint that it is failing or was disabled. Its subject is the endpoint.
const NoticeJob job.Kind = "webhook.notice"

// Status is how deliveries to an endpoint go.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Failing  Status = "failing" // the last delivery failed
	Disabled Status = "disabled"
)

// Reason is why Atrium disabled an endpoint.
type Reason string

// The reasons.
const (
	Gone    Reason = "gone"    // it answered 410
	Expired Reason = "failing" // no delivery has succeeded for five days
)

// Endpoint is a URL that gets a workspace's events.
type Endpoint struct {
	event.Log
	ID          ID
	Org         identity.OrgID
	Workspace   identity.WorkspaceID
	URL         string   // https; http only for networks that the org allows
	Description string   // to 200 characters
	Events      []string // patterns: a type of event, a noun and .*, or *
	Headers     []string // names of the additional headers, sorted
	Sealed      []byte   // their values; nil without any
	Enabled     bool
	Reason      Reason // why Atrium disabled it; empty if a user did, or it is enabled

	Failures        int       // deliveries that failed since the last one that succeeded
	FailingSince    time.Time // the first of them; zero without failures
	FailureNotified bool      // it was reported that it is failing
	SucceededAt     time.Time // zero: never

	Secret        int       // the number of its secret, from 1
	PreviousUntil time.Time // until when the previous secret signs too

	Place     int64 // the Seq of the last event for which deliveries exist
	CreatedBy identity.UserID
	Owner     identity.UserID // who created it, chose its URL last or confirmed it
	Ownerless bool            // Owner lost the role: an admin must confirm it, or delete it
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
	Deleted   bool // it is removed when it is saved

	// LeasedUntil is until when a node works on it, by the clock of the database; zero: none does. It distinguishes
	// leases.
	LeasedUntil time.Time
}

// Draft is the caller's request for an endpoint.
type Draft struct {
	URL         string
	Description string
	Events      []string
	Headers     []string // names
	Sealed      []byte
	Disabled    bool
}

// Changes are new values for some fields; nil keeps the old one.
type Changes struct {
	URL         *string
	Description *string
	Events      *[]string
	Headers     *[]string // names, with Sealed
	Sealed      []byte
	Enabled     *bool
}

// New returns an endpoint of by's workspace, which has count others. It gets the events after place. Requires the
// admin role.
func New(by identity.Actor, count int, place int64, d Draft) (*Endpoint, error) {
	if err := MayManage(by); err != nil {
		return nil, err
	}
	e := &Endpoint{
		ID: ID(id.New(Prefix)), Org: by.Org, Workspace: by.Workspace, URL: d.URL,
		Description: naming.Normal(d.Description), Events: patterns(d.Events), Headers: d.Headers, Sealed: d.Sealed,
		Enabled: !d.Disabled, Secret: 1, Place: place, CreatedBy: by.User, Owner: by.User,
		Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	if count >= MaxEndpoints {
		return nil, ErrTooMany
	}
	e.Record(by, "webhook.created", string(e.ID), map[string]any{"host": e.host(), "events": e.Events})
	return e, nil
}

// MayManage returns identity.ErrForbidden if by may not manage the webhooks of their workspace, which needs the admin
// role.
func MayManage(by identity.Actor) error {
	if by.Role < identity.Admin {
		return identity.Needs(identity.Admin)
	}
	return nil
}

// Change applies changes to e. An endpoint that is enabled gets the events after place. Requires the admin role.
func (e *Endpoint) Change(by identity.Actor, match revision.Match, place int64, c Changes) error {
	if err := MayManage(by); err != nil {
		return err
	}
	if err := match.Check(e.Revision); err != nil {
		return err
	}
	changes := map[string]any{}
	if c.URL != nil && *c.URL != e.URL {
		host := e.host()
		e.URL = *c.URL
		e.Owner, e.Ownerless = by.User, false
		if e.host() != host {
			changes["host"] = event.Change{From: host, To: e.host()}
		} else {
			changes["path"] = true
		}
		if e.host() != host && len(e.Headers) > 0 && c.Headers == nil {
			return fault.InField("/headers", "required",
				"Must be given again, since the URL has another host that must not get them unasked.")
		}
	}
	c.Description = naming.Changed(e.Description, c.Description)
	event.SetQuietly(&e.Description, c.Description, "description", changes)
	if c.Events != nil {
		if events := patterns(*c.Events); !slices.Equal(events, e.Events) {
			changes["events"] = event.Change{From: e.Events, To: events}
			e.Events = events
		}
	}
	if c.Headers != nil {
		e.Headers, e.Sealed = *c.Headers, c.Sealed
		changes["headers"] = true
	}
	if c.Enabled != nil && *c.Enabled != e.Enabled {
		changes["enabled"] = event.Change{From: e.Enabled, To: *c.Enabled}
		e.Enabled = *c.Enabled
		e.resetFailures()
		if e.Enabled {
			e.Place = place
		}
	}
	if err := e.check(); err != nil {
		return err
	}
	if len(changes) > 0 {
		e.touch(by)
		e.Record(by, "webhook.updated", string(e.ID), changes)
	}
	return nil
}

// Confirm makes by the owner of e, if it no longer has one. Requires the admin role, and a person.
func (e *Endpoint) Confirm(by identity.Actor, match revision.Match) error {
	if err := identity.MayOwn(by); err != nil {
		return err
	}
	if err := match.Check(e.Revision); err != nil {
		return err
	}
	if !e.Ownerless {
		return nil
	}
	e.Owner, e.Ownerless = by.User, false
	e.touch(by)
	e.Record(by, "webhook.confirmed", string(e.ID), map[string]any{"host": e.host()})
	return nil
}

// Delete ends e, and its deliveries. Requires the admin role.
func (e *Endpoint) Delete(by identity.Actor, match revision.Match) error {
	if err := MayManage(by); err != nil {
		return err
	}
	if err := match.Check(e.Revision); err != nil {
		return err
	}
	e.Deleted = true
	e.Record(by, "webhook.deleted", string(e.ID), map[string]any{"host": e.host()})
	return nil
}

// Rotate gives e another secret. The previous secret signs too for grace, at most MaxGrace. Requires the admin role.
func (e *Endpoint) Rotate(by identity.Actor, match revision.Match, grace time.Duration) error {
	if err := MayManage(by); err != nil {
		return err
	}
	if err := match.Check(e.Revision); err != nil {
		return err
	}
	grace = min(max(grace, 0), MaxGrace)
	e.Secret++
	e.PreviousUntil = by.At.Add(grace)
	e.touch(by)
	e.Record(by, "webhook.rotated", string(e.ID), map[string]any{"grace_seconds": int(grace.Seconds())})
	return nil
}

// Secrets returns the numbers of the secrets that sign at a time, the current one first.
func (e *Endpoint) Secrets(now time.Time) []int {
	if e.Secret > 1 && now.Before(e.PreviousUntil) {
		return []int{e.Secret, e.Secret - 1}
	}
	return []int{e.Secret}
}

// Status returns how deliveries to e go.
func (e *Endpoint) Status() Status {
	switch {
	case !e.Enabled:
		return Disabled
	case e.Failures > 0:
		return Failing
	}
	return Active
}

// NeedsAttention reports whether e has failed for an hour, or Atrium has disabled it.
func (e *Endpoint) NeedsAttention() bool { return e.FailureNotified || (!e.Enabled && e.Reason != "") }

// IsTriedAlone reports whether e gets one delivery at a time, because the last ones failed.
func (e *Endpoint) IsTriedAlone() bool { return e.Failures >= SoloFailures }

// Gets reports whether e gets a type's events.
func (e *Endpoint) Gets(kind string) bool {
	return slices.ContainsFunc(e.Events, func(p string) bool {
		noun, isNoun := strings.CutSuffix(p, ".*")
		return p == "*" || p == kind || (isNoun && strings.HasPrefix(kind, noun+"."))
	})
}

// Observe notes the outcomes of deliveries to e at a time, in their order, unless e was disabled in the meantime.
func (e *Endpoint) Observe(by identity.Actor, outcomes []Outcome) {
	if !e.Enabled {
		return
	}
	for _, o := range outcomes {
		if o.Delivered() {
			if e.FailureNotified {
				e.Record(by, "webhook.recovered", string(e.ID), map[string]any{"host": e.host()})
			}
			e.resetFailures()
			e.SucceededAt = by.At
			continue
		}
		if e.Failures++; e.FailingSince.IsZero() {
			e.FailingSince = by.At
		}
		if o.Status == gone {
			e.disable(by, Gone)
			return
		}
	}
	switch age := by.At.Sub(e.FailingSince); {
	case e.Failures == 0:
	case age >= disabledAfter:
		e.disable(by, Expired)
	case age >= failingAfter && !e.FailureNotified:
		e.FailureNotified = true
		e.Record(by, "webhook.failing", string(e.ID), map[string]any{"host": e.host(), "since": e.FailingSince})
	}
}

func (e *Endpoint) disable(by identity.Actor, reason Reason) {
	e.Enabled, e.Reason = false, reason
	e.touch(by)
	e.Record(by, "webhook.disabled", string(e.ID), map[string]any{"host": e.host(), "reason": string(reason)})
}

// resetFailures ends a series of failures.
func (e *Endpoint) resetFailures() {
	e.Failures, e.FailingSince, e.FailureNotified, e.Reason = 0, time.Time{}, false, ""
}

func (e *Endpoint) touch(by identity.Actor) {
	e.Revision++
	e.UpdatedAt = by.At
}

// host returns the part of the URL that events and mails name: paths of webhooks often hold a secret.
func (e *Endpoint) host() string {
	if u, err := url.Parse(e.URL); err == nil {
		return u.Host
	}
	return ""
}

var pattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\*|[a-z_]{1,60}\.(\*|[a-z_]{1,60}))$`)
})

// check returns what is wrong with e.
func (e *Endpoint) check() error {
	var errs fault.Fields
	u, err := url.Parse(e.URL)
	switch {
	case err != nil, u.Host == "" || u.Hostname() == "", u.Scheme != "https" && u.Scheme != "http", len(e.URL) > 1000:
		errs.Add("/url", "invalid_format", "Must be a URL with https, of at most 1,000 bytes.")
	case u.User != nil:
		errs.Add("/url", "not_allowed_value", "Must not have a user or a password: use headers.")
	case u.Fragment != "":
		errs.Add("/url", "not_allowed_value", "Must not have a fragment.")
	}
	if utf8.RuneCountInString(e.Description) > 200 {
		errs.Add("/description", "too_long", "Must have at most 200 characters.")
	}
	if naming.Deceptive(e.Description) {
		errs.Add("/description", "invalid_characters", naming.Refusal)
	}
	switch n := len(e.Events); {
	case n == 0:
		errs.Add("/events", "too_few_items", "Must have at least one pattern.")
	case n > 50:
		errs.Add("/events", "too_many_items", "Must have at most 50 patterns.")
	}
	for _, p := range e.Events {
		if !pattern().MatchString(p) || !knownPattern(p) {
			errs.Add("/events", "not_allowed_value", "Must be types of events, such as prompt_template.activated, "+
				"all types of a noun, such as prompt_template.*, or *.")
			break
		}
	}
	return errs.Err()
}

// knownPattern reports whether a pattern matches a type of the catalogue.
func knownPattern(p string) bool {
	e := Endpoint{Events: []string{p}}
	return slices.ContainsFunc(event.Types(), e.Gets)
}

func patterns(all []string) []string { return slices.Compact(slices.Sorted(slices.Values(all))) }
