package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/worker"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports/mocks"
)

const (
	kind   = job.Kind("thing.check")
	limit  = 10 * time.Second
	poll   = time.Second
	lease  = 4 * time.Second
	finish = 3 * time.Second
)

var errBoom = errors.New("boom")

// env is a worker on a mocked queue, in a bubble where time passes when all wait.
type env struct {
	t    *testing.T
	ctx  context.Context
	log  *lines
	reg  *prometheus.Registry
	do   func(ctx context.Context, by identity.Actor, subject string) error
	away func() error // what the queue answers instead of jobs, if it is not nil

	renew func() error // what the queue answers to an extension of a lease
	fail  func() error // what it answers instead of taking note of an outcome

	mu      sync.Mutex
	queued  []job.Job
	asked   int // how often the queue was asked for jobs
	settled map[string]job.Outcome
	at      map[string]time.Duration // since the start
	stop    func()
	stopped chan struct{}
	begun   time.Time
}

// perform runs a test in a bubble, with two slots, and stops the worker after it.
func withEnv(t *testing.T, test func(s *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &env{
			t: t, ctx: ctx, log: &lines{}, reg: prometheus.NewRegistry(), begun: time.Now(), stop: cancel,
			stopped: make(chan struct{}), do: func(context.Context, identity.Actor, string) error { return nil },
			away: func() error { return nil }, fail: func() error { return nil }, renew: func() error { return nil },
			settled: map[string]job.Outcome{}, at: map[string]time.Duration{},
		}
		test(s)
		s.stop()
		<-s.stopped
		s.wait(time.Minute) // for jobs that are left
	})
}

// start has the worker run with what is queued, each job due since a second.
func (s *env) start(subjects ...string) {
	s.t.Helper()
	for _, subject := range subjects {
		j := job.New(identity.System("org_1", "wsp_1", "test", s.begun), kind, subject, s.begun.Add(-time.Second))
		j.Attempt = 1
		s.queued = append(s.queued, j)
	}
	q := mocks.NewMockJobQueue(gomock.NewController(s.t))
	q.EXPECT().Take(gomock.Any(), gomock.Any(), lease, []job.Kind{kind}, gomock.Any()).AnyTimes().DoAndReturn(s.take)
	q.EXPECT().Renew(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(context.Context, job.Job, time.Time) error { return s.renew() })
	q.EXPECT().Settle(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(s.settle)
	table := worker.Table{kind: {Policy: job.Policy{Limit: limit, Attempts: 3},
		Do: func(ctx context.Context, by identity.Actor, subject string) error { return s.do(ctx, by, subject) }}}
	w := worker.New(worker.Config{Slots: 2, Poll: poll, Lease: lease}, q, table, s.reg,
		slog.New(slog.NewTextHandler(s.log, nil)))
	go func() {
		w.Run(s.ctx, finish)
		close(s.stopped)
	}()
}

func (s *env) take(ctx context.Context, _ time.Time, _ time.Duration, _ []job.Kind, n int) ([]job.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if err := s.away(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	n = min(n, len(s.queued))
	batch := s.queued[:n]
	s.queued = s.queued[n:]
	return batch, nil
}

func (s *env) settle(ctx context.Context, j job.Job, o job.Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		s.t.Errorf("%s is settled with a context that has ended", j.Subject)
	}
	if err := s.fail(); err != nil {
		return err
	}
	if _, isRepeated := s.settled[j.Subject]; isRepeated {
		s.t.Errorf("%s is settled twice", j.Subject)
	}
	s.settled[j.Subject], s.at[j.Subject] = o, time.Since(s.begun)
	return nil
}

// wait lets time pass.
func (s *env) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// want fails the test if a job's outcome is another, or was known at another time.
func (s *env) want(subject string, state job.State, failure string, offset time.Duration) job.Outcome {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.settled[subject]
	if !ok || o.State != state || o.Failure != failure || s.at[subject] != offset {
		s.t.Errorf("%s: %+v, settled %v after %s; want %s (%q) after %s\nthe log says:\n%s", subject, o, ok,
			s.at[subject], state, failure, offset, s.log)
	}
	return o
}

// logged fails the test unless exactly one line about jobs holds all texts.
func (s *env) logged(texts ...string) {
	s.t.Helper()
	found := 0
	for line := range strings.Lines(s.log.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			found++
		}
	}
	if found != 1 {
		s.t.Errorf("%d lines hold %q:\n%s", found, texts, s.log)
	}
}

// lines is what a log has been told.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
