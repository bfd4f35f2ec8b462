package node

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// inboxes measures the events of payment gateways that wait to be processed.
type inboxes struct {
	app                              *Core
	lag, wait, dead, paused, surplus *prometheus.Desc
}

func newInboxes(app *Core) *inboxes {
	return &inboxes{
		app: app,
		lag: prometheus.NewDesc("atrium_payment_event_lag_seconds",
			"How long the oldest unprocessed event of a payment gateway has waited, in seconds.", []string{"org"}, nil),
		wait: prometheus.NewDesc("atrium_payment_events_waiting",
			"How many events of a payment gateway wait to be processed.", []string{"org"}, nil),
		dead: prometheus.NewDesc("atrium_payment_events_dead",
			"How many events of a payment gateway failed too often; atrium payments events replay retries them.",
			[]string{"org"}, nil),
		surplus: prometheus.NewDesc("atrium_payment_duplicate_subscriptions",
			"How many live subscriptions exist at the gateway in addition to the one that their workspace should have.",
			[]string{"org"}, nil),
		paused: prometheus.NewDesc("atrium_payments_paused_workspaces",
			"How many workspaces have paused payments because too many cards were declined; atrium payments resume "+
				"ends a pause.", []string{"org"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (i *inboxes) Describe(all chan<- *prometheus.Desc) {
	all <- i.lag
	all <- i.wait
	all <- i.dead
	all <- i.paused
	all <- i.surplus
}

// Collect implements prometheus.Collector. It leaves out metrics that cannot be read.
func (i *inboxes) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, org := range i.app.Orgs.Directory().All() {
		account := i.app.External.Gateways.Terms(org.ID).Account
		if account == "" {
			continue
		}
		if duplicates, err := i.app.DB.Stores().Payments.Duplicates(ctx, org.ID, account); err == nil {
			n := 0
			for _, surplus := range duplicates {
				n += len(surplus)
			}
			all <- prometheus.MustNewConstMetric(i.surplus, prometheus.GaugeValue, float64(n), org.Slug)
		}
		if pauses, err := i.app.DB.Stores().Payments.Paused(ctx, org.ID, account); err == nil {
			all <- prometheus.MustNewConstMetric(i.paused, prometheus.GaugeValue, float64(len(pauses)), org.Slug)
		}
		pending, dead, oldest, err := i.app.DB.Stores().Inbox.Backlog(ctx, org.ID)
		if err != nil {
			continue
		}
		lag := 0.0
		if !oldest.IsZero() {
			lag = max(0, time.Since(oldest).Seconds())
		}
		all <- prometheus.MustNewConstMetric(i.lag, prometheus.GaugeValue, lag, org.Slug)
		all <- prometheus.MustNewConstMetric(i.wait, prometheus.GaugeValue, float64(pending), org.Slug)
		all <- prometheus.MustNewConstMetric(i.dead, prometheus.GaugeValue, float64(dead), org.Slug)
	}
}
