package node

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/adapters/worker"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/domain/webhook"
)

// jobLease is the lease of running jobs. If a node dies, another one takes its jobs within this time and one poll of
// the queue. People wait for many of them: what a payment entitles to, a refreshed source.
const jobLease = 12 * time.Second

// jobTable maps each kind of job to its use case.
func jobTable(s application.Services) worker.Table {
	return worker.Table{
		account.EraseJob: {
			Policy: job.Policy{Limit: 10 * time.Minute, Attempts: 1000}, // until it succeeds
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Accounts.CompleteErasure(ctx, by, identity.UserID(subject))
			},
		},
		account.DirectoryNoticeJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 8},
			Do:     s.Directory.MailNotice,
		},
		account.SecurityNoticeJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 8},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Notices.Mail(ctx, by, identity.UserID(subject))
			},
		},
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
		source.ValidateJob: {
			// longer than an org may let rows be read
			Policy: job.Policy{Limit: 11 * time.Minute, Attempts: 8},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Sources.RunValidation(ctx, by, source.ID(subject))
			},
		},
		source.CompareJob: {
			Policy: job.Policy{Limit: 11 * time.Minute, Attempts: 8},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Sources.Compare(ctx, by, source.ID(subject))
			},
		},
		prompt.RequestJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 1000}, // until it succeeds
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Prompts.LookAt(ctx, by, prompt.RequestID(subject))
			},
		},
		prompt.RolloutJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 1000}, // until it succeeds
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Prompts.JudgeRollouts(ctx, by, prompt.ID(subject))
			},
		},
		payment.EventsJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: payment.MaxEventAttempts},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Payments.ProcessEvents(ctx, by, payment.CustomerID(subject))
			},
		},
		payment.ReconcileJob: {
			// more than a day: after that the outcome is looked up, not retried
			Policy: job.Policy{Limit: time.Minute, Attempts: 40},
			Do: func(ctx context.Context, by identity.Actor, _ string) error {
				return s.Payments.Reconcile(ctx, by)
			},
		},
		payment.AuditJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 8},
			Do:     func(ctx context.Context, by identity.Actor, _ string) error { return s.Payments.Audit(ctx, by) },
		},
		payment.DetailsJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 20},
			Do: func(ctx context.Context, by identity.Actor, _ string) error {
				if err := s.Payments.FollowSeats(ctx, by); err != nil {
					return err
				}
				return s.Payments.FollowDetails(ctx, by)
			},
		},
		payment.UsageJob: {
			// more than a day: after that an event is no longer sent
			Policy: job.Policy{Limit: time.Minute, Attempts: 40},
			Do: func(ctx context.Context, by identity.Actor, _ string) error {
				return s.Payments.SendUsage(ctx, by)
			},
		},
		payment.NoticeJob: {
			Policy: job.Policy{Limit: time.Minute, Attempts: 8},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Payments.MailNotice(ctx, by, subject)
			},
		},
		webhook.NoticeJob: {
			// most of a day: after that the console and /api/me still show it
			Policy: job.Policy{Limit: time.Minute, Attempts: 24},
			Do: func(ctx context.Context, by identity.Actor, subject string) error {
				return s.Webhooks.MailNotice(ctx, by, webhook.ID(subject))
			},
		},
	}
}

// Jobs runs queued jobs until ctx ends. Running jobs then have as long to finish as requests.
func (n *Node) Jobs(ctx context.Context) {
	go sweep(ctx, n.Core, n.Log)
	go startStaggered(ctx, 6, func(ctx context.Context) { resealAtStart(ctx, n.Core, n.Log) })
	var delivering sync.WaitGroup
	defer delivering.Wait()
	delivering.Go(func() { startStaggered(ctx, 3, n.deliverWebhooks) })
	config := worker.Config{Slots: 10, Reserved: 3, Poll: time.Second, Lease: jobLease}
	queue := jobs.NewQueue(n.DB.DB)
	if n.API != nil && n.DB.Engine() == "sqlite" { // the database is this server's: who had jobs is dead
		if err := queue.Release(ctx, time.Now()); err != nil {
			n.Log.Warn("jobs of the previous server wait for the end of their leases", "error", err)
		}
	}
	worker.New(config, queue, jobTable(n.Services), n.Registry, n.Log).Run(ctx,
		n.Config.Server.ShutdownTimeout)
}

// deliverWebhooks delivers events to webhooks until ctx ends.
func (n *Node) deliverWebhooks(ctx context.Context) {
	n.Services.Deliverer.Run(ctx, func(err error) {
		n.Log.Warn("webhooks were not delivered; retrying", "error", err)
	})
}
