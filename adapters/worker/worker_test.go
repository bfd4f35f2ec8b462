package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAJobIsDoneByTheSystemInItsWorkspaceWithinItsLimit(t *testing.T) {
	withEnv(t, func(s *env) {
		s.do = func(ctx context.Context, by identity.Actor, subject string) error {
			want := identity.System("org_1", "wsp_1", by.Request.ID, time.Now())
			ends, _ := ctx.Deadline()
			if d := cmp.Diff(want, by); d != "" || subject != "a" || time.Until(ends) != limit {
				t.Errorf("subject %q, %s left, by (-want +got):\n%s", subject, time.Until(ends), d)
			}
			time.Sleep(2 * time.Second)
			return nil
		}
		s.start("a")
		s.wait(2 * time.Second)
		s.want("a", job.Succeeded, "", 2*time.Second)
		s.logged("level=INFO", "msg=job", "kind=thing.check", "subject=a", "org_id=org_1", "workspace_id=wsp_1",
			"attempt=1", "ms=2000", "lag_ms=1000", "outcome=succeeded")
	})
}

func TestAFailedAttemptIsNamedByACode(t *testing.T) {
	goneFault := &fault.Error{Kind: fault.Conflict, Code: "thing_gone", Detail: "The thing is gone."}
	for name, tt := range map[string]struct {
		do   func(ctx context.Context) error
		code string
		at   time.Duration
	}{
		"a failure that was foreseen": {
			func(context.Context) error { return fmt.Errorf("%w: %w", goneFault, errBoom) }, "thing_gone", 0},
		"any other": {func(context.Context) error { return errBoom }, job.Internal, 0},
		"a limit that is reached": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			job.Overran, limit},
		"one that is reached behind a reason": {func(ctx context.Context) error { <-ctx.Done(); return goneFault },
			job.Overran, limit},
		"a panic": {func(context.Context) error { panic(errBoom) }, job.Panicked, 0},
	} {
		t.Run(name, func(t *testing.T) {
			withEnv(t, func(s *env) {
				s.do = func(ctx context.Context, _ identity.Actor, _ string) error { return tt.do(ctx) }
				s.start("a")
				s.wait(limit)
				if o := s.want("a", job.Queued, tt.code, tt.at); o.Failures != 1 || o.Due.Sub(s.begun) < tt.at+
					7500*time.Millisecond || o.Due.Sub(s.begun) > tt.at+12500*time.Millisecond {
					t.Errorf("%+v", o)
				}
				s.logged("level=WARN", "outcome=retry", "failure="+tt.code, "error=")
			})
		})
	}
}

func TestWorkThatSucceedsAtTheLastMomentHasSucceeded(t *testing.T) {
	withEnv(t, func(s *env) {
		s.do = func(ctx context.Context, _ identity.Actor, _ string) error { <-ctx.Done(); return nil }
		s.start("a")
		s.wait(limit)
		s.want("a", job.Succeeded, "", limit)
	})
}

func TestTheLastFailureIsForGood(t *testing.T) {
	withEnv(t, func(s *env) {
		s.do = func(context.Context, identity.Actor, string) error { return errBoom }
		s.queued = []job.Job{{ID: "job_1", Kind: kind, Subject: "a", Attempt: 9, Failures: 2, Due: s.begun}}
		s.start()
		s.wait(0)
		s.want("a", job.Failed, job.Internal, 0)
		s.logged("level=ERROR", "outcome=failed", "attempt=9", "failure=internal")
	})
}

func TestAnAttemptThatWantsNoOtherIsTheLast(t *testing.T) {
	goneFault := &fault.Error{Kind: fault.Conflict, Code: "thing_gone", Detail: "The thing is gone."}
	withEnv(t, func(s *env) {
		s.do = func(context.Context, identity.Actor, string) error { return job.Final(goneFault) }
		s.start("a")
		s.wait(0)
		if o := s.want("a", job.Failed, "thing_gone", 0); o.Failures != 1 {
			t.Errorf("%+v", o)
		}
		s.logged("level=WARN", "outcome=failed", "failure=thing_gone")
	})
}

func TestAJobWhoseLastWorkerDiedIsNotDoneAgain(t *testing.T) {
	withEnv(t, func(s *env) {
		s.do = func(context.Context, identity.Actor, string) error { t.Error("it is done again"); return nil }
		s.queued = []job.Job{{ID: "job_1", Kind: kind, Subject: "a", Attempt: 4, Failures: 3, Due: s.begun}}
		s.start()
		s.wait(0)
		s.want("a", job.Failed, job.Lost, 0)
		s.logged("level=ERROR", "outcome=failed", "failure=lost")
	})
}

func TestAPanicTellsTheLogWhereAndNothingSecret(t *testing.T) {
	for name, value := range map[string]any{
		"a text": "hunter2", "an error": errors.New("hunter2"), "a struct": struct{ Password string }{"hunter2"},
	} {
		t.Run("of "+name, func(t *testing.T) {
			withEnv(t, func(s *env) {
				s.do = func(context.Context, identity.Actor, string) error { panic(value) }
				s.start("a")
				s.wait(0)
				s.logged("failure=panic", "worker_test.go")
				if log := s.log.String(); strings.Contains(log, "hunter2") {
					t.Errorf("the log holds the value:\n%s", log)
				}
			})
		})
	}
	t.Run("of the runtime is quoted", func(t *testing.T) {
		withEnv(t, func(s *env) {
			s.do = func(_ context.Context, _ identity.Actor, subject string) error {
				_ = strings.Fields(subject)[len(subject)]
				return nil
			}
			s.start("a")
			s.wait(0)
			s.logged("failure=panic", "index out of range")
		})
	})
}

func TestNoMoreJobsRunThanThereAreSlotsAndAFreeOneIsUsedAtOnce(t *testing.T) {
	withEnv(t, func(s *env) {
		var running, maximum atomic.Int64
		s.do = func(context.Context, identity.Actor, string) error {
			raise(&maximum, running.Add(1))
			defer running.Add(-1)
			time.Sleep(poll / 10)
			return nil
		}
		s.start("a", "b", "c", "d", "e")
		s.wait(poll)
		for subject, offset := range map[string]time.Duration{"a": 1, "b": 1, "c": 2, "d": 2, "e": 3} {
			s.want(subject, job.Succeeded, "", offset*poll/10)
		}
		assert.Equal(t, "ran at the same time", maximum.Load(), 2)
	})
}

func TestTheQueueIsAskedOncePerPollWhileNothingIsDue(t *testing.T) {
	withEnv(t, func(s *env) {
		s.start()
		s.wait(10*poll + poll/2)
		if s.asked != 11 {
			t.Errorf("it was asked %d times", s.asked)
		}
	})
}

func TestAQueueThatDoesNotAnswerIsMentionedOnceAndAskedAgain(t *testing.T) {
	withEnv(t, func(s *env) {
		s.away = func() error {
			if awayTime := time.Since(s.begun) / poll; awayTime < 3 || awayTime == 5 {
				return errBoom
			}
			return nil
		}
		s.start("a")
		s.wait(2*poll + poll/2)
		s.logged("level=WARN", "queue of jobs does not answer", "error=boom")
		s.wait(poll)
		s.want("a", job.Succeeded, "", 3*poll)
		s.wait(2 * poll)
		if n := strings.Count(s.log.String(), "does not answer"); n != 2 {
			t.Errorf("it is mentioned %d times, want once for each time that it was away:\n%s", n, s.log)
		}
	})
}

func TestWhatTheQueueHandsOutWhileTheProgramIsToldToStopIsDone(t *testing.T) {
	withEnv(t, func(s *env) {
		s.away = func() error { s.stop(); return nil }
		s.start("a")
		s.wait(0)
		s.want("a", job.Succeeded, "", 0)
	})
}

func TestAStoppingWorkerLetsItsJobsEndAndTakesNoOthers(t *testing.T) {
	withEnv(t, func(s *env) {
		s.do = func(ctx context.Context, _ identity.Actor, _ string) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(finish - time.Second):
				return nil
			}
		}
		s.start("a", "b", "c")
		s.wait(time.Second / 2)
		s.stop()
		s.wait(finish)
		s.want("a", job.Succeeded, "", finish-time.Second)
		s.want("b", job.Succeeded, "", finish-time.Second)
		if len(s.settled) != 2 || s.asked != 1 {
			t.Errorf("%d were settled, the queue was asked %d times", len(s.settled), s.asked)
		}
	})
}

func TestWhatDoesNotEndWhenTheProgramMustIsQueuedForOthers(t *testing.T) {
	withEnv(t, func(s *env) {
		s.do = func(ctx context.Context, _ identity.Actor, subject string) error {
			if subject == "deaf" {
				time.Sleep(time.Minute)
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		s.start("hears", "deaf")
		s.wait(0)
		s.stop()
		s.wait(finish)
		if o := s.want("hears", job.Queued, "", finish); o.Failures != 0 || !o.Due.Equal(s.begun.Add(finish)) {
			t.Errorf("%+v", o)
		}
		s.logged("level=INFO", "outcome=interrupted")
		select {
		case <-s.stopped:
			t.Error("it has not waited for the other one")
		default:
		}
		s.wait(2 * time.Second)
		select {
		case <-s.stopped:
		default:
			t.Error("it still waits for work that does not end")
		}
		s.logged("level=WARN", "some jobs do not end")
	})
}

func TestAnOutcomeIsToldUntilTheQueueHearsItOrTheLeaseIsOver(t *testing.T) {
	t.Run("a queue that comes back is told", func(t *testing.T) {
		withEnv(t, func(s *env) {
			s.fail = func() error {
				if time.Since(s.begun) < 3*poll {
					return errBoom
				}
				return nil
			}
			s.start("a")
			s.wait(limit)
			s.want("a", job.Succeeded, "", 3*poll)
			s.logged("level=INFO", "outcome=succeeded")
		})
	})
	t.Run("one that stays away is not", func(t *testing.T) {
		withEnv(t, func(s *env) {
			tries := 0
			s.fail = func() error { tries++; return errBoom }
			s.start("a")
			s.wait(time.Minute)
			if want := int(lease / poll); len(s.settled) != 0 || tries < want-1 || tries > want+1 {
				t.Errorf("%d settled, %d tries, want about %d", len(s.settled), tries, want)
			}
			s.logged("level=WARN", "unsettled=boom")
		})
	})
	t.Run("a job that another has taken over is let go", func(t *testing.T) {
		withEnv(t, func(s *env) {
			tries := 0
			s.fail = func() error { tries++; return ports.ErrJobLost }
			s.start("a")
			s.wait(time.Minute)
			assert.Equal(t, "tries", tries, 1)
		})
	})
}

func TestAWorkerMeasuresWhatItDoes(t *testing.T) {
	withEnv(t, func(s *env) {
		s.do = func(_ context.Context, _ identity.Actor, subject string) error {
			if subject == "bad" {
				return errBoom
			}
			return nil
		}
		s.start("good", "bad", "fine")
		s.wait(poll)
		got := map[string]uint64{}
		families, err := s.reg.Gather()
		require.NoError(t, err)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				series := f.GetName()
				for _, l := range m.GetLabel() {
					series += " " + l.GetName() + "=" + l.GetValue()
				}
				got[series] = m.GetHistogram().GetSampleCount()
			}
		}
		want := map[string]uint64{
			"atrium_job_duration_seconds kind=thing.check outcome=retry":     1,
			"atrium_job_duration_seconds kind=thing.check outcome=succeeded": 2,
			"atrium_job_lag_seconds kind=thing.check":                        3,
			"atrium_jobs_running kind=thing.check":                           0,
		}
		assert.NoDiff(t, "what is returned", cmp.Diff(want, got))
	})
}
