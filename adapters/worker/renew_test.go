package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

func TestALeaseIsExtendedWhileItsJobRuns(t *testing.T) {
	withEnv(t, func(s *env) {
		renewals := 0
		s.renew = func() error {
			if renewals++; renewals == 3 {
				return errors.New("the queue does not answer") // once
			}
			return nil
		}
		s.do = func(context.Context, identity.Actor, string) error {
			time.Sleep(7500 * time.Millisecond)
			return nil
		}
		s.start("a")
		s.wait(time.Minute)
		s.want("a", job.Succeeded, "", 7500*time.Millisecond)
		if renewals != 7 {
			t.Errorf("the lease was extended %d times", renewals)
		}
	})
}

func TestAnAttemptEndsWhenItsLeaseIsLost(t *testing.T) {
	for name, tt := range map[string]struct {
		err error
		at  time.Duration
	}{
		"to another worker":                         {ports.ErrJobLost, time.Second},
		"because the queue does not answer so long": {errBoom, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			withEnv(t, func(s *env) {
				s.renew = func() error { return tt.err }
				s.do = func(ctx context.Context, _ identity.Actor, _ string) error {
					<-ctx.Done()
					return ctx.Err()
				}
				s.start("a")
				s.wait(time.Minute)
				s.want("a", job.Queued, job.Lost, tt.at)
			})
		})
	}
}

func TestTheLeaseOfAJobThatIgnoresItsLimitEnds(t *testing.T) {
	withEnv(t, func(s *env) {
		var renewedTime time.Duration
		s.renew = func() error { renewedTime = time.Since(s.begun); return nil }
		s.do = func(context.Context, identity.Actor, string) error {
			time.Sleep(time.Minute)
			return nil
		}
		s.start("a")
		s.wait(2 * time.Minute)
		if renewedTime > limit || renewedTime < limit-time.Second {
			t.Errorf("the lease was extended last after %s, at a limit of %s", renewedTime, limit)
		}
	})
}
