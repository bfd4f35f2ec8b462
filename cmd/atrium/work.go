package main

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/worker"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/source"
)

type workCommand struct{}

// Help implements kong.HelpProvider.
func (workCommand) Help() string {
	return `Runs queued background jobs, and removes expired data. serve does both too: use this command for nodes that only run
jobs, beside servers that are started with --no-work. SIGTERM and Ctrl-C finish running jobs.

Examples:
  atrium work --config /etc/atrium.yaml
  ATRIUM_METRICS_ADDR=127.0.0.1:9090 atrium work --data /var/lib/atrium`
}

// Run implements the command.
func (workCommand) Run(p *process) error {
	return p.runNode(nil, false, func(ctx context.Context, n *node) error {
		n.log.Info("working", "version", version)
		var linking sync.WaitGroup
		defer linking.Wait()
		linking.Go(func() { n.linkEvents(ctx) })
		n.work(ctx)
		return nil
	})
}

// worked maps each kind of job to its use case.
func worked(s application.Services) worker.Table {
	return worker.Table{
		connection.CheckJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 8},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Connections.Check(ctx, by, connection.ID(subject))
			},
		},
		source.RefreshJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 8},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Sources.Refresh(ctx, by, source.ID(subject))
			},
		},
		billing.EventsJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: billing.MaxEventAttempts},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Payments.ProcessEvents(ctx, by, billing.CustomerID(subject))
			},
		},
		billing.ReconcileJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 40}, // more than a day: after that the outcome is looked up, not retried
			Do:     func(ctx context.Context, by identity.Actor, _ string) error { return s.Payments.Reconcile(ctx, by) },
		},
		billing.AuditJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 8},
			Do:     func(ctx context.Context, by identity.Actor, _ string) error { return s.Payments.Audit(ctx, by) },
		},
	}
}

// work runs background jobs until ctx ends. Running jobs then have as long to finish as requests.
func (n *node) work(ctx context.Context) {
	go sweep(ctx, n.core, n.log)
	go resealAtStart(ctx, n.core, n.log)
	config := worker.Config{Slots: 10, Reserved: 3, Poll: time.Second, Grace: 30 * time.Second}
	worker.New(config, sqlstore.NewJobQueue(n.db), worked(n.services), n.registry, n.log).Run(ctx, n.config.Server.ShutdownTimeout)
}
