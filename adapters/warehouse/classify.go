package warehouse

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"reflect"
	"slices"
	"syscall"

	"github.com/atrium-hq/atrium/domain/connection"
)

// Classify returns the code for a network or TLS error, only by its type. It returns codes unchanged, and the error of
// ctx if its owner cancelled it. Unknown errors are connection.Internal.
func Classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	if code, ok := errors.AsType[connection.Code](err); ok {
		return code
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return connection.DNSFailed
	}
	if code := classifyTLS(err); code != "" {
		return code
	}
	switch {
	case IsTimeout(err):
		return connection.ConnectTimeout
	case errors.Is(err, syscall.ECONNREFUSED), isReset(err):
		return connection.PortClosed
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL),
		errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENETDOWN),
		errors.Is(err, syscall.EHOSTDOWN):
		return connection.HostUnreachable
	}
	return connection.Internal
}

// IsTimeout reports whether an error comes from a deadline, a socket's or a context's.
func IsTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, syscall.ETIMEDOUT) {
		return true
	}
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED)
}

// classifyTLS returns "" if err is not one of TLS.
func classifyTLS(err error) connection.Code {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return connection.TLSNameMismatch
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return connection.TLSExpired
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return connection.TLSUntrusted
	}
	if is[x509.UnknownAuthorityError](err) || is[x509.CertificateInvalidError](err) || is[x509.SystemRootsError](err) ||
		is[x509.ConstraintViolationError](err) || is[x509.InsecureAlgorithmError](err) ||
		is[x509.UnhandledCriticalExtension](err) {
		return connection.TLSUntrusted
	}
	if alert, ok := remoteAlert(err); ok {
		if slices.Contains(certificateAlerts, alert) {
			return connection.AuthRejected
		}
		return connection.TLSUnsupported
	}
	if is[tls.RecordHeaderError](err) {
		return connection.TLSUnsupported
	}
	return ""
}

// certificateAlerts are the alerts with which a server refuses a client certificate, or that there is none: from
// bad_certificate to certificate_unknown, unknown_ca, access_denied and certificate_required (RFC 8446, section 6.2).
var certificateAlerts = []uint64{42, 43, 44, 45, 46, 48, 49, 116}

// remoteAlert returns the alert with which a server has ended TLS. crypto/tls has no exported type for it.
func remoteAlert(err error) (alert uint64, ok bool) {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return 0, false
	}
	number := reflect.ValueOf(op.Err)
	if number.Kind() != reflect.Uint8 {
		return 0, false
	}
	return number.Uint(), true
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// UnlessCanceled returns err, or the error of ctx if its owner cancelled it.
func UnlessCanceled(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	return err
}
