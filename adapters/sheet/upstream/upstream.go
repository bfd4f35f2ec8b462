// Package upstream has what the services that hold sheets have in common: files, and the faults for failures of hosts.
package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
)

// File is a file that a host sends.
type File struct {
	Name     string
	Response *http.Response // of status 200; the one who opened the file must close its body
}

// Unreachable returns the fault for a network error, only by its type.
func Unreachable(err error) error {
	if code, ok := errors.AsType[connection.Code](err); ok {
		switch code {
		case connection.NetworkNotAllowed:
			return source.ErrURLNotAllowed
		case connection.ResponseTooLarge:
			return source.ErrFileTooLarge
		}
		return source.ErrSheetFailed
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return source.ErrSheetNotFound.Because("The host of this location does not exist.")
	}
	if detail := certificate(err); detail != "" {
		return source.ErrSheetFailed.Because(detail)
	}
	if n, ok := errors.AsType[net.Error](err); (ok && n.Timeout()) || errors.Is(err, os.ErrDeadlineExceeded) {
		return source.ErrSheetTimeout
	}
	return source.ErrSheetFailed
}

// certificate returns what is wrong with a host's certificate, "" if nothing.
func certificate(err error) string {
	invalid, _ := errors.AsType[x509.CertificateInvalidError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	_, isRefused := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case invalid.Cert != nil && invalid.Reason == x509.Expired:
		return "The certificate of the sheet's host has expired or is not yet valid."
	case otherName:
		return "The certificate of the sheet's host is for another host name."
	case isRefused:
		return "The certificate of the sheet's host is not signed by a trusted authority."
	}
	return ""
}

// Refusal returns the fault for a status other than 200; nil for 200.
func Refusal(status int, header http.Header) error {
	switch status {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return source.ErrSheetNotShared
	case http.StatusNotFound, http.StatusGone:
		return source.ErrSheetNotFound
	case http.StatusTooManyRequests:
		return source.ErrSheetRateLimited.WithRetryAfter(retryAfter(header.Get("Retry-After")))
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return source.ErrSheetTimeout
	}
	return source.ErrSheetFailed
}

// retryAfter reads seconds (RFC 9110, section 10.2.3), at most an hour; a minute if it has none.
func retryAfter(s string) time.Duration {
	seconds, err := strconv.Atoi(s)
	if err != nil || seconds < 1 {
		return time.Minute
	}
	return min(time.Duration(seconds)*time.Second, time.Hour)
}
