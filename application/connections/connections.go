// Package connections holds the use cases of connections to warehouses, and Atrium's background work
// with them. Methods that reach a warehouse are separate from methods that store: a probe runs outside
// any transaction, and the method that stores its result checks whether the result still applies.
package connections

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// Warehouses are the kinds of warehouse that this program can reach.
type Warehouses map[connection.Kind]ports.Warehouse

// Offer lists what an org's workspaces can connect to.
type Offer struct {
	Kinds  []connection.Kind
	Egress identity.Egress
	Google connection.OAuthClient // for people's consent; zero: none
	// The org's timeouts; a zero timeout means ports.DefaultLimits.
	Timeouts connection.Timeouts
}

// Offers returns an org's current offer; zero if the org is not configured.
type Offers func(identity.OrgID) Offer

// Service holds the use cases, one method each.
type Service struct {
	atomic      ports.Atomic
	connections ports.Connections
	states      ports.ConsentStates
	deps        Deps
}

// Deps are a Service's dependencies other than its stores.
type Deps struct {
	Sealer      ports.CredentialSealer
	Warehouses  Warehouses
	Offers      Offers
	ProbeLimits connection.ProbeLimits
	Quotas      ports.Quotas
}

// NewService returns the use cases on these stores.
func NewService(atomic ports.Atomic, s ports.ConnectionStores, d Deps) *Service {
	return &Service{atomic: atomic, connections: s.Connections, states: s.ConsentStates, deps: d}
}

// Listing is what List returns.
type Listing struct {
	Connections []connection.Connection // newest first
	Sources     []source.Summary        // that read through them, in the order of ports.Connections.List
	Kinds       []*connection.Descriptor
}

// List returns the workspace's connections, what reads through them, and the kinds that its org offers.
func (s *Service) List(ctx context.Context, by identity.Actor) (Listing, error) {
	all, dependents, err := s.connections.List(ctx, by.Workspace)
	if err != nil {
		return Listing{}, err
	}
	return Listing{
		Connections: slices.DeleteFunc(all,
			func(c connection.Connection) bool { return c.Access(by) < connection.See }),
		Sources: slices.DeleteFunc(dependents,
			func(src source.Summary) bool { return src.Access(by) < source.See }),
		Kinds: slices.DeleteFunc(connection.Kinds(),
			func(d *connection.Descriptor) bool { return s.offered(by.Org, d.Kind) != nil }),
	}, nil
}

// Get returns a connection.
func (s *Service) Get(ctx context.Context, by identity.Actor, id connection.ID) (*connection.Connection, error) {
	c, err := s.connections.Get(ctx, by.Workspace, id)
	if err != nil {
		return nil, err
	}
	return c, c.Allow(by, connection.See)
}

// Probe tries a credential for a new connection. The returned trial has passed; for a failed one the
// error is a *connection.ProbeError. Only the attempt is stored. watch is called with each check as soon as its step
// has ended; it may be nil.
func (s *Service) Probe(
	ctx context.Context, by identity.Actor, d connection.Draft, watch func(connection.Check),
) (connection.Trial, error) {
	if err := connection.MayCreate(by); err != nil {
		return connection.Trial{}, err
	}
	if err := s.offered(by.Org, d.Kind); err != nil {
		return connection.Trial{}, err
	}
	credential, err := parse(d.Kind, d.Entry)
	if err := bothInvalid(d.Check(), err); err != nil {
		return connection.Trial{}, err
	}
	switch live, err := s.connections.Live(ctx, by.Workspace); { // checked again when it is stored
	case err != nil:
		return connection.Trial{}, err
	case live >= connection.MaxLive:
		return connection.Trial{}, connection.ErrLimitReached
	}
	target := credential.Target(by.Org)
	if err := s.admit(ctx, by, connection.Probing, target); err != nil {
		return connection.Trial{}, err
	}
	if d.Consent != nil {
		if credential, err = s.exchange(ctx, by, d.Kind, *d.Consent); err != nil {
			return connection.Trial{}, err
		}
	}
	t := connection.Trial{ID: connection.NewID(), Name: d.Name, At: by.At}
	t.Report, err = s.reach(ctx, by, credential, watch)
	if err := errors.Join(err, s.refused(ctx, by, target, t.Report)); err != nil {
		return connection.Trial{}, err
	}
	return s.sealed(by, t, credential)
}

// Create stores a connection whose trial passed. A *quota.LimitError if the workspace has no room for
// it.
func (s *Service) Create(
	ctx context.Context, by identity.Actor, t connection.Trial,
) (*connection.Connection, error) {
	limits, err := s.deps.Quotas(ctx, by)
	if err != nil {
		return nil, err
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (c *connection.Connection, err error) {
		if err := tx.Connections.Add(ctx, by, func(others int) (_ *connection.Connection, err error) {
			c, err = connection.New(by, t, others)
			return c, err
		}); err != nil {
			return nil, err
		}
		if err := tx.CheckUsage(ctx, by, limits, quota.Connections); err != nil {
			return nil, err
		}
		return c, checkLater(ctx, tx.Jobs, by, c)
	})
}

// offered returns connection.ErrKindNotOffered unless org offers kind and this program supports it.
func (s *Service) offered(org identity.OrgID, kind connection.Kind) error {
	if s.deps.Warehouses[kind] == nil || !slices.Contains(s.deps.Offers(org).Kinds, kind) {
		return connection.ErrKindNotOffered
	}
	return nil
}

// admit counts an attempt of by to reach target, if the limits of probes permit it.
func (s *Service) admit(
	ctx context.Context, by identity.Actor, effort connection.Effort, target connection.Target,
) error {
	return s.attempt(ctx, by, effort, target, func(c *connection.Counts) error {
		return s.deps.ProbeLimits.Admit(c, by.At)
	})
}

// attempt changes the counts of probes. Targets are stored as keyed digests.
func (s *Service) attempt(
	ctx context.Context, by identity.Actor, effort connection.Effort, target connection.Target,
	change func(*connection.Counts) error,
) error {
	target = s.deps.Sealer.Digest("probe target", target[:])
	return s.connections.Attempt(ctx, by, effort, target, change)
}

// refused counts a new credential that its target refused, even if the caller no longer waits: what the probe found
// may have been sent already.
func (s *Service) refused(ctx context.Context, by identity.Actor, target connection.Target, r connection.Report) error {
	if !r.RefusesCredential() {
		return nil
	}
	return s.attempt(context.WithoutCancel(ctx), by, connection.Probing, target, func(c *connection.Counts) error {
		s.deps.ProbeLimits.Refuse(c, by.At)
		return nil
	})
}

// reach probes a credential on behalf of by, and calls watch, if it is not nil, with each check.
func (s *Service) reach(
	ctx context.Context, by identity.Actor, credential connection.Credential, watch func(connection.Check),
) (connection.Report, error) {
	target, reports := s.target(by, credential), 0
	if watch != nil {
		target.Watch = func(c connection.Check) {
			reports++
			watch(c)
		}
	}
	report := s.deps.Warehouses[credential.Kind()].Probe(ctx, target)
	switch report.Failure() {
	case connection.TooManyReads:
		return connection.Report{}, connection.ErrTooManyReads
	case connection.NotRun:
		return connection.Report{}, ports.ErrUnavailable
	}
	if watch != nil {
		for _, c := range report.Checks[min(reports, len(report.Checks)):] {
			watch(c)
		}
	}
	return report, context.Cause(ctx) // an interrupted probe's report says nothing about the warehouse
}

// sealed adds the sealed credential to a trial, unless the trial failed.
func (s *Service) sealed(
	by identity.Actor, t connection.Trial, credential connection.Credential,
) (connection.Trial, error) {
	if err := t.Failure(credential); err != nil {
		return connection.Trial{}, err
	}
	plain, err := credential.Reveal()
	if err != nil {
		return connection.Trial{}, err
	}
	secrets, err := credential.RevealSecrets()
	if err != nil {
		return connection.Trial{}, err
	}
	place := connection.Seal(by.Org, by.Workspace, t.ID, credential.Kind())
	t.New = &connection.NewCredential{Credential: credential}
	if secrets != nil {
		t.New.Fingerprint = s.deps.Sealer.Fingerprint(secrets, place)
	}
	if t.New.Bound = !s.deps.Sealer.Compatible(); t.New.Bound {
		place = connection.SealRevision(place, t.Of+1)
	}
	t.New.Sealed, err = s.deps.Sealer.Seal(plain, place)
	return t, err
}

// checkLater queues a connection's next check.
func checkLater(ctx context.Context, jobs ports.Jobs, by identity.Actor, c *connection.Connection) error {
	due := c.NextCheck(by.At, rand.Float64()) //nolint:gosec // jitter needs no secrecy
	if c.NextCheckAt.IsZero() || due.Before(c.NextCheckAt) {
		c.NextCheckAt = due // with the precision of the queue
	}
	return jobs.Enqueue(ctx, job.New(by, connection.CheckJob, string(c.ID), due))
}

// bothInvalid combines two errors with all their fields.
func bothInvalid(one, two error) error {
	a, invalidOne := errors.AsType[*fault.Error](one)
	b, invalidTwo := errors.AsType[*fault.Error](two)
	if invalidOne && invalidTwo {
		return fault.ErrInvalid.WithFields(slices.Concat(a.Fields, b.Fields)...)
	}
	return errors.Join(one, two)
}
