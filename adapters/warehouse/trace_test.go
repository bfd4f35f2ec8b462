package warehouse_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTrace(t *testing.T) {
	t.Run("the current step fails, and later steps are skipped", func(t *testing.T) {
		trace := warehouse.NewTrace()
		trace.Passed(connection.Resolve)
		trace.Passed(connection.Policy)
		trace.Passed(connection.Connect)
		trace.Skipped(connection.TLS)
		r := trace.Report(fmt.Errorf("wrapped: %w", connection.AuthFailed))
		var got []string
		for _, c := range r.Checks {
			got = append(got, fmt.Sprintf("%s %s %s", c.Step, c.Result, c.Code))
		}
		want := "resolve ok , policy ok , connect ok , tls skipped , authenticate failed auth_failed, database " +
			"skipped , read skipped , privileges skipped "
		if strings.Join(got, ",") != strings.ReplaceAll(want, ", ", ",") {
			t.Errorf("checks = %q", got)
		}
	})
	t.Run("a refusal reveals nothing else: neither earlier steps nor their durations", func(t *testing.T) {
		early, late := warehouse.NewTrace(), warehouse.NewTrace()
		late.Passed(connection.Resolve)
		late.Server.Product = "x"
		if a, b := early.Report(connection.NetworkNotAllowed),
			late.Report(connection.NetworkNotAllowed); !reflect.DeepEqual(a, b) {
			t.Errorf("%+v and %+v differ", a, b)
		}
	})
	t.Run("an unexpected error is internal, and a deadline is a timeout", func(t *testing.T) {
		assert.Equal(t, "failure", warehouse.NewTrace().Report(errors.New("c4n4ry")).Failure(), connection.Internal)
		if got := warehouse.NewTrace().Report(context.DeadlineExceeded).Failure(); got != connection.QueryTimeout {
			t.Errorf("failure = %q", got)
		}
	})
}

type timeout struct{ error }

func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestClassify(t *testing.T) {
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for want, all := range map[connection.Code][]error{
		connection.DNSFailed: {&net.DNSError{IsNotFound: true}, &net.DNSError{IsTimeout: true},
			&net.OpError{Op: "dial", Err: &net.DNSError{}}},
		connection.PortClosed: {dial(syscall.ECONNREFUSED), dial(syscall.ECONNRESET)},
		connection.HostUnreachable: {dial(syscall.EHOSTUNREACH), dial(syscall.ENETUNREACH), dial(syscall.EPERM),
			dial(syscall.EADDRNOTAVAIL)},
		connection.ConnectTimeout: {dial(syscall.ETIMEDOUT), os.ErrDeadlineExceeded, context.DeadlineExceeded,
			&net.OpError{Op: "read", Err: timeout{errors.New("x")}}},
		connection.NetworkNotAllowed: {&net.OpError{Op: "dial", Err: connection.NetworkNotAllowed}},
		connection.ResponseTooLarge:  {fmt.Errorf("x: %w", connection.ResponseTooLarge)},
		connection.TLSNameMismatch: {
			&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a"}}},
		connection.TLSUntrusted: {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
			x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.NotAuthorizedToSign}},
		connection.TLSExpired: {&tls.CertificateVerificationError{
			Err: x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}}},
		connection.TLSUnsupported: {remoteAlert(70), remoteAlert(40), tls.RecordHeaderError{}},
		connection.AuthRejected:   {remoteAlert(116), remoteAlert(42), remoteAlert(48)},
		connection.Internal:       {errors.New("connection refused"), io.EOF},
	} {
		for _, err := range all {
			if got := warehouse.Classify(t.Context(), err); !errors.Is(got, want) {
				t.Errorf("%T %v: %v, want %s", err, err, got, want)
			}
		}
	}
	t.Run("a cancelled context is reported as context.Canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, warehouse.Classify(ctx, dial(syscall.ECONNREFUSED)), context.Canceled)
	})
	t.Run("nil stays nil", func(t *testing.T) {
		if got := warehouse.Classify(t.Context(), nil); got != nil {
			t.Errorf("error = %v", got)
		}
	})
}

// remoteAlert is an alert of the server as crypto/tls reports it.
func remoteAlert(number uint8) error { return &net.OpError{Op: "remote error", Err: alert(number)} }

type alert uint8

func (a alert) Error() string { return fmt.Sprint("tls: alert ", uint8(a)) }

func TestRecorder(t *testing.T) {
	a, b := net.Pipe()
	r := warehouse.Record(a)
	go func() {
		for _, s := range []string{"SSH-2.0", "-OpenSSH_9.6p1 and more"} {
			_, _ = b.Write([]byte(s))
		}
		b.Close()
	}()
	all, err := io.ReadAll(r)
	if err != nil || string(all) != "SSH-2.0-OpenSSH_9.6p1 and more" {
		t.Fatalf("%q, %v", all, err)
	}
	if string(r.First()) != "SSH-2.0-OpenSSH_" || r.Count() != int64(len(all)) || !r.Ended() ||
		!errors.Is(r.Err(), io.EOF) {
		t.Errorf("first %q, count %d, ended %v, err %v", r.First(), r.Count(), r.Ended(), r.Err())
	}
	for first, want := range map[string]bool{
		"SSH-2.0-x": true, "HTTP/1.1 400": true, "220 mail": true, "\x15\x03\x01\x00\x02": true, "": false,
		"R\x00\x00\x00\x08": false, "J\x00\x00\x00\x0a8.0": false,
	} {
		if got := warehouse.Foreign([]byte(first)); got != want {
			t.Errorf("Foreign(%q) = %v", first, got)
		}
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"PostgreSQL 15.4": "PostgreSQL 15.4", "a\nb\x1b[31mc": "ab[31mc", "é": "",
		strings.Repeat("x", 100): strings.Repeat("x", 64),
	} {
		if got := warehouse.Word(in); got != want {
			t.Errorf("Word(%q) = %q", in, got)
		}
	}
}

func TestConfined(t *testing.T) {
	c, err := connection.ParseCredential(connection.Postgres,
		[]byte(`{"host":"a.example.com","database":"d","username":"u","password":"c4n4ry"}`))
	require.NoError(t, err)
	target := ports.Target{Workspace: "wsp_1", Credential: c, Limits: ports.DefaultLimits()}
	for name, tt := range map[string]struct{ err, want error }{
		"an answer that is too large":       {ports.ErrJobTooLarge, connection.ResponseTooLarge},
		"too little memory":                 {ports.ErrJobOutOfMemory, connection.OutOfMemory},
		"a child that was too slow":         {ports.ErrJobTimeout, connection.QueryTimeout},
		"a child that crashed":              {ports.ErrJobCrashed, connection.Internal},
		"a child that could not be started": {errors.New("fork: no memory"), connection.Internal},
	} {
		t.Run(name+" is a code", func(t *testing.T) {
			w := warehouse.NewConfined(func(_ context.Context, tenant identity.WorkspaceID, _ string, _ time.Duration,
				_, _ any) error {
				if tenant != "wsp_1" {
					t.Errorf("the call is %q's", tenant)
				}
				return tt.err
			}, func(
				context.Context, identity.WorkspaceID, string, time.Duration, any, func(json.RawMessage) error,
			) error {
				return tt.err
			})
			assert.ErrorIs(t, w.Rows(t.Context(), target, connection.RowsQuery{}, nil), tt.want)
			if _, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: 1}); !errors.Is(err, tt.want) {
				t.Errorf("Tables = %v", err)
			}
			if _, err := w.Preview(t.Context(), target,
				connection.PreviewQuery{Table: connection.TableRef{Schema: "a", Name: "b"}, Rows: 1}); !errors.Is(err,
				tt.want) {
				t.Errorf("Preview = %v", err)
			}
			if got := w.Probe(t.Context(), target).Failure(); got != tt.want {
				t.Errorf("Probe = %v", got)
			}
		})
	}
	for _, c := range []struct {
		name     string
		job, err error
		report   connection.Code
	}{
		{"a call that was refused is no failure of the connection", ports.ErrJobRefused, connection.ErrTooManyReads,
			connection.TooManyReads},
		{"nor is one whose share Atrium's database could not tell", ports.ErrUnavailable, ports.ErrUnavailable,
			connection.NotRun},
	} {
		t.Run(c.name, func(t *testing.T) {
			fails := func(context.Context, identity.WorkspaceID, string, time.Duration, any, any) error {
				return fmt.Errorf("job: %w", c.job)
			}
			w := warehouse.NewConfined(fails, func(
				context.Context, identity.WorkspaceID, string, time.Duration, any, func(json.RawMessage) error,
			) error {
				return fmt.Errorf("job: %w", c.job)
			})
			if _, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: 1}); !errors.Is(err, c.err) {
				t.Errorf("Tables = %v", err)
			}
			rows := connection.PreviewQuery{Table: connection.TableRef{Schema: "a", Name: "b"}, Rows: 1}
			if _, err := w.Preview(t.Context(), target, rows); !errors.Is(err, c.err) {
				t.Errorf("Preview = %v", err)
			}
			assert.Equal(t, "Probe", w.Probe(t.Context(), target).Failure(), c.report)
		})
	}
	t.Run("a child that ends during a probe fails the step that it was at", func(t *testing.T) {
		var watchedSteps []connection.Step
		copiedTarget := target
		copiedTarget.Watch = func(c connection.Check) { watchedSteps = append(watchedSteps, c.Step) }
		w := warehouse.NewConfined(nil, func(
			_ context.Context, _ identity.WorkspaceID, _ string, _ time.Duration, _ any,
			visit func(json.RawMessage) error,
		) error {
			if err := visit(json.RawMessage(`{"Check":{"Step":"resolve","Result":"ok"}}`)); err != nil {
				return err
			}
			return ports.ErrJobCrashed
		})
		r := w.Probe(t.Context(), copiedTarget)
		if r.Checks[0].Result != connection.OK || r.Checks[1].Code != connection.Internal || len(r.Checks) != 8 ||
			!slices.Equal(watchedSteps, []connection.Step{connection.Resolve}) {
			t.Errorf("%+v, watched %v", r.Checks, watchedSteps)
		}
	})
	t.Run("a job of a kind that there is not is internal", func(t *testing.T) {
		job := warehouse.Job(map[connection.Kind]ports.Warehouse{})
		w := warehouse.NewConfined(func(ctx context.Context, _ identity.WorkspaceID, name string, _ time.Duration, in,
			out any) error {
			text, err := json.Marshal(in)
			if err != nil || name != warehouse.JobName {
				return fmt.Errorf("%s: %w", name, err)
			}
			result, err := job(ctx, text)
			if err != nil {
				return err
			}
			if text, err = json.Marshal(result); err != nil {
				return err
			}
			return json.Unmarshal(text, out)
		}, nil)
		_, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: 1})
		assert.ErrorIs(t, err, connection.Internal)
	})
	t.Run("a request that cannot be read is not quoted", func(t *testing.T) {
		_, err := warehouse.Job(nil)(t.Context(), json.RawMessage(`{"Call":"probe","Kind":{"c4n4ry":1}}`))
		if err == nil || strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("error = %v", err)
		}
	})
}
