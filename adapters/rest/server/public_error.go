package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Statuses maps each kind of failure to its HTTP status.
var Statuses = map[fault.Kind]int{
	fault.Malformed:          http.StatusBadRequest,
	fault.Unauthenticated:    http.StatusUnauthorized,
	fault.PaymentRequired:    http.StatusPaymentRequired,
	fault.Forbidden:          http.StatusForbidden,
	fault.NotFound:           http.StatusNotFound,
	fault.MethodNotAllowed:   http.StatusMethodNotAllowed,
	fault.NotAcceptable:      http.StatusNotAcceptable,
	fault.Conflict:           http.StatusConflict,
	fault.PreconditionFailed: http.StatusPreconditionFailed,
	fault.TooLarge:           http.StatusRequestEntityTooLarge,
	fault.UnsupportedMedia:   http.StatusUnsupportedMediaType,
	fault.Misdirected:        http.StatusMisdirectedRequest,
	fault.Invalid:            http.StatusUnprocessableEntity,
	fault.RateLimited:        http.StatusTooManyRequests,
	fault.Upstream:           http.StatusBadGateway,
	fault.Unavailable:        http.StatusServiceUnavailable,
	fault.UpstreamTimeout:    http.StatusGatewayTimeout,
	0:                        http.StatusInternalServerError,
}

var (
	errInternal = &fault.Error{
		Code:   "internal",
		Detail: "Something went wrong on the server. Its log has the details under the request_id.",
	}
	errTimeout = &fault.Error{
		Kind:   fault.UpstreamTimeout,
		Code:   "timeout",
		Detail: "The request took too long and was cancelled.",
	}
)

// PublicError returns the part of err that a client may see.
func PublicError(err error) *fault.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errTimeout
	}
	return errInternal
}

// hasNoAccount reports whether err means that the caller has no account here, or none that works at its address.
func hasNoAccount(err error) bool {
	return PublicError(err).Kind == fault.Unauthenticated || errors.Is(err, account.ErrSignUpClosed) ||
		errors.Is(err, account.ErrClaimMissing) || errors.Is(err, identity.ErrAddressNotAllowed)
}
