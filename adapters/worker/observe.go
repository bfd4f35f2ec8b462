package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/domain/job"
)

// report has all that the log and the metrics show about one attempt.
type report struct {
	job       job.Job
	lag       time.Duration // from when the job was due until it was taken
	took      time.Duration
	outcome   job.Outcome
	err       error // of the work
	unsettled error // why the queue does not know the outcome
}

// outcomeLabel names the outcome of the attempt.
func (r report) outcomeLabel() string {
	switch {
	case r.outcome.State != job.Queued:
		return string(r.outcome.State)
	case r.outcome.Failure == "":
		return "interrupted"
	case r.outcome.Failure == job.Busy:
		return "postponed"
	}
	return "retry"
}

// report writes one line and measures.
func (w *Worker) report(r report) {
	outcome := r.outcomeLabel()
	w.measured.lag.WithLabelValues(string(r.job.Kind)).Observe(max(r.lag, 0).Seconds())
	w.measured.took.WithLabelValues(string(r.job.Kind), outcome).Observe(r.took.Seconds())
	attrs := []slog.Attr{
		slog.String("kind", string(r.job.Kind)), slog.String("subject", r.job.Subject),
		slog.String("job_id", string(r.job.ID)),
		slog.String("org_id", string(r.job.Org)), slog.String("workspace_id", string(r.job.Workspace)),
		slog.Int("attempt", r.job.Attempt), slog.Float64("ms", milliseconds(r.took)),
		slog.Float64("lag_ms", milliseconds(r.lag)), slog.String("outcome", outcome),
	}
	level := slog.LevelInfo
	if r.outcome.Failure != "" && r.outcome.Failure != job.Busy {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("failure", r.outcome.Failure))
	}
	if r.outcome.State == job.Failed && !job.IsFinal(r.err) { // no one else handles it
		level = slog.LevelError
	}
	if r.err != nil {
		attrs = append(attrs, slog.Any("error", r.err))
	}
	if p, ok := errors.AsType[*panicked](r.err); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	if r.unsettled != nil {
		level = max(level, slog.LevelWarn)
		attrs = append(attrs, slog.Any("unsettled", r.unsettled))
	}
	w.log.LogAttrs(context.Background(), level, "job", attrs...)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measures are the metrics of jobs for Prometheus: their number, outcomes and durations, the lag of the queue, and
// how many run.
type measures struct {
	took, lag *prometheus.HistogramVec
	running   *prometheus.GaugeVec
}

func newMeasures(reg prometheus.Registerer) *measures {
	m := &measures{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "atrium_job_duration_seconds",
			Help: "How long attempts at jobs took, by kind and outcome: succeeded, retry, failed (for good), " +
				"interrupted or postponed.",
			Buckets: []float64{.01, .1, .5, 1, 5, 10, 30, 60, 300, 600},
		}, []string{"kind", "outcome"}),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "atrium_job_lag_seconds", Help: "How long jobs had been due before they were begun, by kind.",
			Buckets: []float64{.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200},
		}, []string{"kind"}),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "atrium_jobs_running",
			Help: "How many jobs this process runs, by kind."}, []string{"kind"}),
	}
	reg.MustRegister(m.took, m.lag, m.running)
	return m
}
