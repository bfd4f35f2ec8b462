package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/webhooks"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// forwarding is Transcripts on mocked ports, which runs until stop is called.
type forwarding struct {
	*mockedService
	*webhooks.Transcripts
	stop func() // and wait

	mu       sync.Mutex
	start    time.Time
	attempts []time.Duration // since the start, and how many turns were lost
	running  int             // attempts at the same time
	busiest  int
	losses   int
	reports  []error
}

// newForwarding lets the store find an endpoint, and answer decide how an attempt ends.
func newForwarding(
	t *testing.T, find func() (*webhook.Endpoint, error), answer func(n int) webhook.Outcome,
) *forwarding {
	t.Helper()
	s := &forwarding{mockedService: newMocked(t), start: time.Now()}
	egress := func(identity.OrgID) identity.Egress { return identity.Egress{} }
	s.Transcripts = webhooks.NewTranscripts(s.store, webhooks.NewKeys(s.sealer), s.sender, egress)
	s.store.EXPECT().Get(gomock.Any(), admin.Workspace, webhook.ID("whk_1")).DoAndReturn(
		func(context.Context, identity.WorkspaceID, webhook.ID) (*webhook.Endpoint, error) {
			return find()
		}).AnyTimes()
	s.sender.EXPECT().SendTurn(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
		func(ctx context.Context, target ports.WebhookTarget, _ *ports.Turn, _ time.Time) webhook.Outcome {
			if target.URL != endpoint().URL || len(target.Keys) != 1 {
				t.Errorf("it is sent to %+v", target)
			}
			s.mu.Lock()
			s.attempts = append(s.attempts, time.Since(s.start))
			n := len(s.attempts)
			s.running++
			s.busiest = max(s.busiest, s.running)
			s.mu.Unlock()
			out := answer(n)
			if out.Took > 0 {
				select {
				case <-time.After(out.Took):
				case <-ctx.Done():
					out = webhook.Outcome{Failure: "query_timeout"}
				}
			}
			s.mu.Lock()
			s.running--
			s.mu.Unlock()
			return out
		}).AnyTimes()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, func(err error) { s.reports = append(s.reports, err) }) })
	s.stop = func() {
		cancel()
		running.Wait()
	}
	return s
}

func found() (*webhook.Endpoint, error) { return endpoint(), nil }

// turn forwards a turn with an answer of a length.
func (s *forwarding) turn(by identity.Actor, n int) {
	s.Forward(by, "whk_1", &ports.Turn{ID: "msg_1", Template: "ctpl_1", Answer: strings.Repeat("x", n)}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.losses++
	})
}

func TestATurnIsSentUntilTheEndpointConfirmsIt(t *testing.T) {
	fails, works := webhook.Outcome{Status: 500}, webhook.Outcome{Status: 204}
	disabled := func() (*webhook.Endpoint, error) {
		e := endpoint()
		e.Enabled = false
		return e, nil
	}
	deleted := func() (*webhook.Endpoint, error) { return nil, webhook.ErrNotFound }
	outages := 0
	outage := func() (*webhook.Endpoint, error) {
		if outages++; outages == 1 {
			return nil, errors.New("the database is away")
		}
		return found()
	}
	for name, tt := range map[string]struct {
		find   func() (*webhook.Endpoint, error)
		answer func(n int) webhook.Outcome
		want   string // when it is sent, and how many turns are lost
	}{
		"at once": {found, func(int) webhook.Outcome { return works }, "[0s] 0"},
		"again after some time": {found, func(n int) webhook.Outcome {
			return map[bool]webhook.Outcome{true: works, false: fails}[n == 3]
		}, "[0s 5s 35s] 0"},
		"five times": {found, func(int) webhook.Outcome { return fails }, "[0s 5s 35s 2m35s 7m35s] 1"},
		"not after the endpoint has gone": {found, func(int) webhook.Outcome {
			return webhook.Outcome{Status: 410}
		}, "[0s] 1"},
		"not to a disabled endpoint": {disabled, nil, "[] 1"},
		"not to a deleted one":       {deleted, nil, "[] 1"},
		"after an outage":            {outage, func(int) webhook.Outcome { return works }, "[5s] 0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newForwarding(t, tt.find, tt.answer)
				s.turn(admin, 10)
				time.Sleep(time.Hour)
				s.stop()
				assert.Equal(t, "it is sent", fmt.Sprint(s.attempts, s.losses), tt.want)
				assert.Equal(t, "reports", len(s.reports), s.losses)
				for _, err := range s.reports {
					if strings.Contains(err.Error(), "xxx") {
						t.Errorf("the report %v has the turn", err)
					}
				}
			})
		})
	}
}

func TestANodeThatStopsSendsWaitingTurnsOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newForwarding(t, found, func(n int) webhook.Outcome {
			return map[bool]webhook.Outcome{true: {Status: 204}, false: {Status: 500}}[n > 1]
		})
		s.turn(admin, 10)
		time.Sleep(time.Second)
		s.stop()
		assert.Equal(t, "it is sent", fmt.Sprint(s.attempts, s.losses), "[0s 1s] 0")
		s.turn(admin, 10) // too late
		assert.Equal(t, "lost turns", s.losses, 1)
	})
	synctest.Test(t, func(t *testing.T) {
		s := newForwarding(t, found, func(int) webhook.Outcome { return webhook.Outcome{Took: time.Minute} })
		for range 20 {
			s.turn(admin, 10)
		}
		synctest.Wait()
		s.stop()
		assert.Equal(t, "the stop takes", time.Since(s.start), 5*time.Second)
		assert.Equal(t, "lost turns", s.losses, 20)
	})
}

func TestTurnsThatWaitTakeAShareOfTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newForwarding(t, found, func(int) webhook.Outcome {
			return webhook.Outcome{Status: 204, Took: time.Second}
		})
		for range 1010 {
			s.turn(admin, 10)
		}
		synctest.Wait()
		assert.Equal(t, "lost of too many", s.losses, 10)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, "attempts at the same time", s.busiest, 5)
		for range 9 {
			s.turn(admin, 1<<20)
		}
		synctest.Wait()
		assert.Equal(t, "lost of too large ones", s.losses, 12) // each needs a little more than 1 MiB
		time.Sleep(time.Hour)
		synctest.Wait()
		s.turn(admin, 10)
		s.stop()
		assert.Equal(t, "lost after the others have left", s.losses, 12)
	})
}

func TestAnOrgLeavesRoomForTheTurnsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newForwarding(t, found, func(int) webhook.Outcome { return webhook.Outcome{Status: 204} })
		s.store.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, errors.New("away")).AnyTimes()
		for i := range 5 {
			by := admin
			by.Workspace = identity.WorkspaceID(fmt.Sprint("wsp_busy_", i))
			for range 5 {
				s.turn(by, 1<<20)
			}
		}
		synctest.Wait()
		assert.Equal(t, "lost turns of the busy org", s.losses, 10) // 15 of a little more than 1 MiB fit into 16 MiB
		by := admin
		by.Org, by.Workspace = "org_calm", "wsp_calm"
		s.turn(by, 1<<20)
		synctest.Wait()
		assert.Equal(t, "lost turns with those of the other org", s.losses, 10)
		s.stop()
	})
}
