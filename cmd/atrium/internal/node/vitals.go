package node

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/domain/presence"
)

// vitals measures values that are in the database: its size, the queue, the number of people online, and
// deleted objects that should have been removed.
type vitals struct {
	app                        *Core
	size, waiting, age, people *prometheus.Desc
	overdue                    *prometheus.Desc
}

func newVitals(app *Core) *vitals {
	return &vitals{
		app:     app,
		size:    prometheus.NewDesc("atrium_database_size_bytes", "Size of the database in bytes.", nil, nil),
		waiting: prometheus.NewDesc("atrium_jobs_queued", "How many jobs are queued, over all nodes.", nil, nil),
		age: prometheus.NewDesc("atrium_job_queue_age_seconds",
			"How long the first queued job has been due, in seconds; 0 if none is due.", nil, nil),
		people: prometheus.NewDesc("atrium_people_online",
			"How many people of an org others see as online, away or dnd.", []string{"org"}, nil),
		overdue: prometheus.NewDesc("atrium_removals_overdue",
			"How many deleted objects should have been removed more than a day ago.", []string{"kind"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (v *vitals) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{v.size, v.waiting, v.age, v.people, v.overdue} {
		all <- d
	}
}

// Collect implements prometheus.Collector. It leaves out metrics that cannot be read.
func (v *vitals) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		all <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if size, err := v.app.DB.Size(ctx); err == nil {
		gauge(v.size, float64(size))
	}
	now := time.Now()
	if b, err := jobs.NewQueue(v.app.DB.DB).Backlog(ctx, now); err == nil {
		age := 0.0
		if !b.Due.IsZero() {
			age = max(0, now.Sub(b.Due).Seconds())
		}
		gauge(v.waiting, float64(b.Queued))
		gauge(v.age, age)
	}
	if o, err := v.app.DB.Overdue(ctx, now); err == nil {
		gauge(v.overdue, float64(o.Workspaces), "workspace")
		gauge(v.overdue, float64(o.Prompts), "prompt_template")
		gauge(v.overdue, float64(o.Chats), "chat_template")
	}
	for _, org := range v.app.Orgs.Directory().All() {
		if counts, _, err := v.app.DB.Stores().Presences.Counts(ctx, org.ID, ""); err == nil {
			online := counts[presence.Online] + counts[presence.Away] + counts[presence.DND]
			gauge(v.people, float64(online), org.Slug)
		}
	}
}
