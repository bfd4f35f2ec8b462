package job_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAFailedJobWaitsTwiceAsLongEachTimeUntilItsAttemptsEnd(t *testing.T) {
	p := job.Policy{Attempts: 100}
	for _, tt := range []struct {
		name     string
		failures int // before this one
		chance   float64
		wait     time.Duration
	}{
		{"ten seconds after the first failure", 0, 0.5, 10 * time.Second},
		{"at least a quarter less", 0, 0, 7500 * time.Millisecond},
		{"at most a quarter more", 0, 1, 12500 * time.Millisecond},
		{"twice that after the second", 1, 0.5, 20 * time.Second},
		{"less than an hour after the ninth", 8, 0.5, 2560 * time.Second},
		{"an hour after the tenth", 9, 0.5, time.Hour},
		{"never more, whatever the number", 98, 0.5, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := p.Failure(job.Job{Failures: tt.failures}, "code", now, tt.chance)
			want := job.Outcome{State: job.Queued, At: now, Due: now.Add(tt.wait), Failures: tt.failures + 1,
				Failure: "code"}
			assert.Equal(t, "Failure", got, want)
		})
	}
	for _, failures := range []int{99, 100} {
		got := p.Failure(job.Job{Failures: failures}, "code", now, 0.5)
		if want := (job.Outcome{State: job.Failed, At: now, Failures: failures + 1, Failure: "code"}); got != want {
			t.Errorf("after %d failures before: %+v, want %+v", failures, got, want)
		}
	}
}

func TestOnlyFailuresCountAgainstAJob(t *testing.T) {
	j := job.Job{Attempt: 7, Failures: 2}
	if got, want := j.Success(now), (job.Outcome{State: job.Succeeded, At: now, Failures: 2}); got != want {
		t.Errorf("Success = %+v", got)
	}
	if got, want := j.Interruption(now), (job.Outcome{State: job.Queued, At: now, Due: now, Failures: 2}); got != want {
		t.Errorf("Interruption = %+v", got)
	}
}

func TestAJobWhoseLastAttemptWasLostIsNotTriedAgain(t *testing.T) {
	p := job.Policy{Attempts: 3}
	for failures, want := range map[int]bool{0: false, 2: false, 3: true, 4: true} {
		if got := p.Exhausted(job.Job{Failures: failures}); got != want {
			t.Errorf("Exhausted after %d failures = %v", failures, got)
		}
	}
	if got, want := (job.Job{Failures: 3}).Abandonment(now),
		(job.Outcome{State: job.Failed, At: now, Failures: 3, Failure: job.Lost}); got != want {
		t.Errorf("Abandonment = %+v", got)
	}
}

func TestAFinalErrorIsStillTheOneItWas(t *testing.T) {
	boom := errors.New("boom")
	if err := job.Final(boom); !errors.Is(err, boom) || !job.IsFinal(err) || job.IsFinal(boom) {
		t.Errorf("Final = %v", err)
	}
}

func TestAPostponedErrorIsStillTheOneItWas(t *testing.T) {
	boom := errors.New("boom")
	if err := job.Postponed(boom); !errors.Is(err, boom) || !job.IsPostponed(err) || job.IsPostponed(boom) ||
		job.IsFinal(err) {
		t.Errorf("Postponed = %v", err)
	}
}

func TestAPostponedJobIsDueWithinSecondsAndNoFailureIsCounted(t *testing.T) {
	for chance, wait := range map[float64]time.Duration{0: 2 * time.Second, 0.5: 3 * time.Second, 1: 4 * time.Second} {
		want := job.Outcome{State: job.Queued, At: now, Due: now.Add(wait), Failures: 2, Failure: job.Busy}
		assert.Equal(t, "Postponement", (job.Job{Failures: 2}).Postponement(now, chance), want)
	}
}

func TestJobsOfPaymentsAreUrgent(t *testing.T) {
	for kind, want := range map[job.Kind]bool{"payment.events": true, "payment.": true, "source.refresh": false,
		"payments.x": false, "": false} {
		if got := kind.Urgent(); got != want {
			t.Errorf("%q is urgent: %v", kind, got)
		}
	}
}
