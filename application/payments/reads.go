package payments

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// Reads bound how long reads of the mirror wait for a gateway account. A read that waits for too long returns what the
// mirror has, while the gateway is read in the background. After that, reads do not wait at all, until the gateway has
// answered again.
//
// The zero Reads are ready to use. They belong to one account.
type Reads struct {
	once    sync.Once
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	flights singleflight.Group // of the same part of one workspace
}

// Times of reads.
const (
	patience  = time.Second     // how long a read waits for the gateway
	probeWait = 5 * time.Second // how long a gateway that did not respond is not called
)

// errSlow counts a gateway that has not answered in time as one that fails.
var errSlow = errors.New("the gateway is slow")

func (r *Reads) init() {
	r.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:      probeWait,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures > 0 },
		IsSuccessful: func(err error) bool { return !payment.OutcomeUnknown(err) && !payment.NoEffect(err) },
	})
}

// refreshWithinPatience reads a part of the mirror from the gateway, within the patience of reads. stale is true if
// the gateway did not answer in time.
func (s *Service) refreshWithinPatience(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer, p mirrorPart,
) (r reading, stale bool, err error) {
	r, err = t.Reads.bound(ctx, string(by.Workspace)+" "+p.name, func(ctx context.Context) (reading, error) {
		callCtx, cancel := outbound(ctx)
		defer cancel()
		return tolerant(s.refresh(ctx, callCtx, by, t, c, p))
	})
	if errors.Is(err, errSlow) || rejected(err) ||
		((payment.OutcomeUnknown(err) || payment.NoEffect(err)) && ctx.Err() == nil) {
		return reading{customer: c}, true, nil
	}
	return r, false, err
}

// bound calls read and returns its result, or errSlow after the patience. In that case read continues in the
// background. Concurrent calls for the same subject share one read. Nil Reads wait for read.
func (r *Reads) bound(ctx context.Context, subject string, read func(context.Context) (reading, error)) (reading,
	error) {
	if r == nil {
		return read(ctx)
	}
	r.once.Do(r.init)
	wait := patience
	if r.breaker.State() != gobreaker.StateClosed {
		wait = 0
	}
	flightCtx := context.WithoutCancel(ctx)
	flight := r.flights.DoChan(subject, func() (any, error) {
		report, err := r.breaker.Allow()
		if err != nil {
			return reading{}, errSlow
		}
		slow := time.AfterFunc(patience, func() { report(errSlow) })
		out, err := read(flightCtx)
		if slow.Stop() {
			report(err)
		}
		return out, err
	})
	if wait == 0 {
		return reading{}, errSlow
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case result := <-flight:
		out, _ := result.Val.(reading)
		return out, result.Err
	case <-timer.C:
		return reading{}, errSlow
	case <-ctx.Done():
		return reading{}, ctx.Err()
	}
}
