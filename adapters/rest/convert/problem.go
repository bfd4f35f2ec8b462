package convert

import (
	"math"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
)

// ToCheck returns a probe check, with its duration in tenths of milliseconds.
func ToCheck(c *connection.Check) openapi.ProbeCheck {
	return openapi.ProbeCheck{
		Step:   openapi.ProbeStep(c.Step),
		Result: openapi.ProbeResult(c.Result),
		Code:   openapi.OrNull(string(c.Code)),
		Ms:     math.Round(float64(c.Took)/float64(time.Millisecond)*10) / 10,
	}
}

// ToFailure returns why a connection failed.
func ToFailure(failure *connection.Failure, egress identity.Egress) openapi.ConnectionFailure {
	f := failure.WithAddresses(egress)
	return openapi.ConnectionFailure{
		Code:      string(f.Code),
		Category:  openapi.FailureCategory(f.Category),
		Fields:    NonNil(f.Fields),
		Retryable: f.Retryable,
		Hint:      f.Hint,
		Answered:  openapi.OrNull(string(f.Answered)),
		At:        openapi.Time(f.At),
	}
}

// ToPlanLimit returns a problem's members about a limit that is reached.
func ToPlanLimit(e *quota.LimitError) openapi.ProblemPlanLimit {
	out := openapi.ProblemPlanLimit{
		Name:          string(e.Kind),
		Limit:         e.Limit,
		UpgradePlanID: nullable.NewNullNullable[string](),
		Quantity:      openapi.OrNull(e.Quantity),
	}
	if e.Lifted != nil {
		out.UpgradePlanID = nullable.NewNullableWithValue(e.Lifted.ID)
	}
	return out
}
