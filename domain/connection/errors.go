package connection

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Errors about connections.
var (
	ErrNotFound = &fault.Error{
		Kind:   fault.NotFound,
		Code:   "connection_not_found",
		Detail: "There is no such connection.",
	}
	ErrForbidden = &fault.Error{
		Kind:   fault.Forbidden,
		Code:   "connection_forbidden",
		Detail: "Your access to this connection does not allow that.",
	}
	ErrKindNotOffered = &fault.Error{
		Kind:   fault.Forbidden,
		Code:   "kind_not_offered",
		Detail: "This organisation does not offer connections of that kind.",
	}
	ErrLimitReached = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "connection_limit_reached",
		Detail: "A workspace can have at most 50 connections that are not revoked.",
	}
	ErrRevoked = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "connection_revoked",
		Detail: "The connection was revoked and its credential erased. Verify it with a new credential.",
	}
	ErrNotRevoked = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "connection_not_revoked",
		Detail: "Only a revoked connection can be erased. Revoke it first.",
	}
	ErrCredentialChanged = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "credential_changed",
		Detail: "The credential was replaced or revoked in the meantime. Read the connection again.",
	}
	ErrProbeFailed = &fault.Error{
		Kind:   fault.Invalid,
		Code:   "probe_failed",
		Detail: "The probe of this credential failed. See failure for the reason. Nothing was stored.",
	}
	ErrProbeRateLimited = &fault.Error{
		Kind:   fault.RateLimited,
		Code:   "probe_rate_limited",
		Detail: "Too many probes from this workspace or to this target. Wait for the number of seconds in Retry-After.",
	}

	// ErrPreviewRateLimited is returned by PreviewLimits.
	ErrPreviewRateLimited = &fault.Error{
		Kind: fault.RateLimited, Code: "preview_rate_limited",
		Detail: "Too many previews from this workspace. Wait as long as Retry-After says.",
	}

	// ErrTooManyReads means that nothing was reached because too many calls of the same tenant are waiting, or this one
	// has waited for ten seconds. Jobs that get it are postponed.
	ErrTooManyReads = &fault.Error{
		Kind: fault.RateLimited, Code: "too_many_reads", RetryAfter: 5 * time.Second,
		Detail: "Too many reads, previews and probes of your workspaces run or wait already. " +
			"Wait as long as Retry-After says.",
	}
)

// ProbeError is ErrProbeFailed with the findings of the probe.
type ProbeError struct {
	Failure Failure
	Checks  []Check
}

func (e *ProbeError) Error() string { return "the probe failed: " + string(e.Failure.Code) }

// Unwrap returns the error that the caller gets.
func (e *ProbeError) Unwrap() error { return ErrProbeFailed }
