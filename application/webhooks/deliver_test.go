package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestADeliveryWhoseEventIsGoneEndsWithoutBeingSent(t *testing.T) {
	s, e := newMocked(t), endpoint()
	d := e.NewDelivery(event.Event{ID: "evt_1"}, now)
	d.EventRemoved = true
	s.queue.EXPECT().Pending(gomock.Any(), e.ID).Return(1000, nil).AnyTimes()
	s.queue.EXPECT().Next(gomock.Any(), e.ID, gomock.Any(), 5).Return([]webhook.Delivery{d}, nil)
	s.queue.EXPECT().Next(gomock.Any(), e.ID, gomock.Any(), 5).Return(nil, nil)
	s.queue.EXPECT().Settle(gomock.Any(), gomock.Any(), e, gomock.Any(), gomock.Any()).DoAndReturn(func(
		_ context.Context, _ identity.Actor, _ *webhook.Endpoint, all []webhook.Delivery,
		change func(*webhook.Endpoint) []job.Job) (*webhook.Endpoint, error) {
		if all[0].State != webhook.Failed || all[0].Last.Failure != webhook.EventRemoved {
			t.Errorf("it ended as %+v", all[0])
		}
		change(e)
		return e, nil
	})
	s.queue.EXPECT().Release(gomock.Any(), e, time.Time{}).Return(nil)
	if err := s.deliver.Work(t.Context(), e); err != nil || e.Failures != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// runs lets a deliverer run with endpoints that a store hands out, until all are worked off. The store hands out at
// most atOnce of them at the same time. Time passes when all wait (testing/synctest).
func (s *mockedService) runs(t *testing.T, waiting []*webhook.Endpoint, atOnce int, work func(webhook.ID)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	leasedCount, remainder := 0, len(waiting)
	s.queue.EXPECT().Take(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(func(
		_ context.Context, _ time.Time, _ time.Duration, n int,
		other []identity.OrgID) (batch []webhook.Endpoint, _ error) {
		mu.Lock()
		defer mu.Unlock()
		waiting = slices.DeleteFunc(waiting, func(e *webhook.Endpoint) bool {
			if len(batch) == n || leasedCount == atOnce || slices.Contains(other, e.Org) {
				return false
			}
			batch = append(batch, *e)
			leasedCount++
			return true
		})
		return batch, nil
	}).AnyTimes()
	s.queue.EXPECT().Pending(gomock.Any(), gomock.Any()).Return(1000, nil).AnyTimes()
	s.queue.EXPECT().Next(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context,
		id webhook.ID, _ time.Time, _ int) ([]webhook.Delivery, error) {
		work(id)
		return nil, nil
	}).AnyTimes()
	s.queue.EXPECT().Release(gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(func(context.Context,
		*webhook.Endpoint, time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		leasedCount--
		if remainder--; remainder == 0 {
			stop()
		}
		return nil
	}).AnyTimes()
	s.deliver.Run(ctx, func(err error) { t.Error(err) })
}

func endpointsOf(org identity.OrgID, n int) (all []*webhook.Endpoint) {
	for i := range n {
		e := endpoint()
		e.ID, e.Org = webhook.ID(fmt.Sprint(org, i)), org
		all = append(all, e)
	}
	return all
}

func TestAnOrgHasNoMoreThanItsShareOfANodeAndAnotherIsServedBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMocked(t)
		var mu sync.Mutex
		busy, maximum, start := 0, 0, time.Now()
		var servedTime time.Duration
		all := append(endpointsOf("org_busy", 80), endpointsOf("org_calm", 1)...)
		s.runs(t, all, len(all), func(id webhook.ID) {
			if id == "org_calm0" {
				servedTime = time.Since(start)
				return
			}
			mu.Lock()
			busy++
			maximum = max(maximum, busy)
			mu.Unlock()
			time.Sleep(15 * time.Second) // a receiver that does not answer
			mu.Lock()
			busy--
			mu.Unlock()
		})
		if maximum > 50 || maximum < 40 || servedTime > time.Second {
			t.Errorf("%d endpoints of one org at once; the other org was served after %s", maximum, servedTime)
		}
	})
}

func TestWorkThatEndsWakesTheNodeForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMocked(t)
		start := time.Now()
		s.runs(t, endpointsOf("org_a", 5), 1, func(webhook.ID) { time.Sleep(10 * time.Millisecond) })
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("five endpoints one after the other took %s", took)
		}
	})
}

func TestANodeWithoutWorkAsksOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMocked(t)
		requests := 0
		s.queue.EXPECT().Take(gomock.Any(), gomock.Any(), gomock.Any(), 10, gomock.Any()).DoAndReturn(func(
			context.Context, time.Time, time.Duration, int, []identity.OrgID) ([]webhook.Endpoint, error) {
			requests++
			return nil, nil
		}).AnyTimes()
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer stop()
		s.deliver.Run(ctx, func(err error) { t.Error(err) })
		if requests != 11 {
			t.Errorf("asked %d times in ten seconds", requests)
		}
	})
}

// sendsFor lets a delivery take some time, and settling end with an error. It returns when the lease was renewed.
func (s *mockedService) sendsFor(t *testing.T, took time.Duration, settlement error) (renewals []time.Duration) {
	t.Helper()
	e, start := endpoint(), time.Now()
	s.queue.EXPECT().Pending(gomock.Any(), e.ID).Return(1000, nil).AnyTimes()
	s.queue.EXPECT().Next(gomock.Any(), e.ID, gomock.Any(), 5).Return([]webhook.Delivery{
		e.NewDelivery(event.Event{Type: "member.added"}, now)}, nil)
	s.sender.EXPECT().Send(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(func(context.Context,
		ports.WebhookTarget, *webhook.Delivery, time.Time) webhook.Outcome {
		time.Sleep(took)
		return webhook.Outcome{Status: 204}
	})
	s.queue.EXPECT().Renew(gomock.Any(), e, 10*time.Second).DoAndReturn(func(_ context.Context, e *webhook.Endpoint,
		lease time.Duration) (time.Time, error) {
		renewals = append(renewals, time.Since(start))
		if len(renewals) == 2 {
			return time.Time{}, errors.New("the database is busy")
		}
		return time.Now().Add(lease), nil
	}).AnyTimes()
	s.queue.EXPECT().Settle(gomock.Any(), gomock.Any(), e, gomock.Any(), gomock.Any()).DoAndReturn(func(
		_ context.Context, _ identity.Actor, holding *webhook.Endpoint, _ []webhook.Delivery,
		_ func(*webhook.Endpoint) []job.Job) (*webhook.Endpoint, error) {
		if !holding.LeasedUntil.Equal(start.Add(renewals[len(renewals)-1] + 10*time.Second)) {
			t.Errorf("it settles with the lease until %s", holding.LeasedUntil)
		}
		return holding, settlement
	})
	s.queue.EXPECT().Release(gomock.Any(), e, gomock.Any()).Return(nil)
	assert.NoError(t, s.deliver.Work(t.Context(), e))
	return renewals
}

func TestALeaseIsRenewedWhileADeliveryTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := []time.Duration{3 * time.Second, 6 * time.Second, 9 * time.Second}
		assert.EqualSlice(t, "it was renewed after", newMocked(t).sendsFor(t, 10*time.Second, nil), want)
	})
}

func TestANodeThatHasLostALeaseLeavesTheEndpointToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newMocked(t).sendsFor(t, 4*time.Second, webhook.ErrLeaseLost)
	})
}
