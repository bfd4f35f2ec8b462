// Package job describes background work: its subject, when it is due, and how often it is tried.
package job

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Prefix begins a job's identifier.
const Prefix = "job"

// ID identifies a job.
type ID string

// Kind names what a job does, as noun.verb: connection.check. Each area declares its own.
type Kind string

// PerWorkspace is the maximum number of one workspace's jobs that run at the same time, over all nodes.
const PerWorkspace = 2

// Urgent reports whether jobs of kind k run before others of their workspace and have slots of their
// own. These are jobs about payments, because people who have paid wait for them.
func (k Kind) Urgent() bool { return strings.HasPrefix(string(k), "payment.") }

// Job is one piece of work about one subject. It carries no other data: its handler reads the current
// state, and saves only if the revision of the subject's aggregate is unchanged.
type Job struct {
	ID        ID
	Kind      Kind
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Subject   string    // identifier of the object that the work is about
	Due       time.Time // the earliest time to start
	Attempt   int       // number of the current attempt, from 1; 0 before the first
	Failures  int       // how many attempts have failed since it was enqueued
	CreatedAt time.Time
}

// New returns a job in by's workspace that is due at a time. A time in the past means immediately.
func New(by identity.Actor, kind Kind, subject string, due time.Time) Job {
	return Job{
		ID: ID(id.New(Prefix)), Kind: kind, Org: by.Org, Workspace: by.Workspace, Subject: subject,
		Due: due.UTC(), CreatedAt: by.At,
	}
}

// Actor returns the actor that does j's work at a time. The audit trail names the kind and the job.
func (j Job) Actor(now time.Time) identity.Actor {
	return identity.System(j.Org, j.Workspace, string(j.Kind)+" "+string(j.ID), now)
}
