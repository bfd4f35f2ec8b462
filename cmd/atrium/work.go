package main

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/worker"
	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/source"
)

type workCommand struct{}

// Help implements kong.HelpProvider.
func (workCommand) Help() string {
	return `Runs what is queued for the background, and removes what has served its time. serve does so too: use this for
nodes that do nothing else, beside servers that are started with --no-work. SIGTERM and Ctrl-C finish what runs.

Examples:
  atrium work --config /etc/atrium.yaml
  ATRIUM_METRICS_ADDR=127.0.0.1:9090 atrium work --data /var/lib/atrium`
}

// Run implements the command.
func (workCommand) Run(p *process) error {
	return p.runNode(nil, false, func(ctx context.Context, n *node) error {
		n.log.Info("working", "version", version)
		n.work(ctx)
		return nil
	})
}

// worked says which use case does the work of each kind of job.
func worked(s rest.Services) worker.Table {
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
				return s.Payments.WorkOff(ctx, by, billing.CustomerID(subject))
			},
		},
		billing.ReconcileJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 40}, // a day and more: after that it is looked up, not repeated
			Do:     func(ctx context.Context, by identity.Actor, _ string) error { return s.Payments.Reconcile(ctx, by) },
		},
		billing.AuditJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 8},
			Do:     func(ctx context.Context, by identity.Actor, _ string) error { return s.Payments.Audit(ctx, by) },
		},
	}
}

// work does what nobody waits for, until ctx ends; what runs then has as long to end as requests
// have.
func (n *node) work(ctx context.Context) {
	go sweep(ctx, n.core, n.log)
	go resealAtStart(ctx, n.core, n.log)
	config := worker.Config{Slots: 10, Reserved: 3, Poll: time.Second, Grace: 30 * time.Second}
	worker.New(config, sqlstore.NewJobQueue(n.db), worked(n.services), n.registry, n.log).Run(ctx, n.config.Server.ShutdownTimeout)
}
