package sheet_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestFilesAreReadWhereTheyAreAndNowhereElse(t *testing.T) {
	folder, foreignFolder := t.TempDir(), t.TempDir()
	sheets := confined(t, folder)
	put(t, foreignFolder, "secret.csv", []byte("Secret\nx\n"))
	require.NoError(t, os.Symlink(foreignFolder+"/secret.csv", folder+"/link.csv"))
	require.NoError(t, os.Mkdir(folder+"/sub.csv", 0o700))
	require.NoError(t, syscall.Mkfifo(folder+"/pipe.csv", 0o600))
	for _, name := range []string{"link.csv", "sub.csv", "pipe.csv"} {
		if s, err := sheets.Preview(t.Context(), "", file(name)); !errors.Is(err, source.ErrSheetNotFound) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	large, err := os.Create(folder + "/large.csv")
	require.NoError(t, err)
	defer large.Close()
	require.NoError(t, large.Truncate(source.MaxSheetBytes+1))
	if _, err := sheets.Preview(t.Context(), "", file("large.csv")); !errors.Is(err, source.ErrFileTooLarge) {
		t.Errorf("a file over the limit: %v", err)
	}
	t.Run("a folder that is not there has no files", func(t *testing.T) {
		if _, err := confined(t, folder+"/none").Preview(t.Context(), "", file("a.csv")); !errors.Is(err,
			source.ErrSheetNotFound) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestHostsThatMisbehaveGetAnAnswerOfTheirOwn(t *testing.T) {
	h := newHost(t)
	patient := limits()
	patient.Bytes = 1 << 20
	short := patient
	short.Total = 500 * time.Millisecond
	answer := func(path string, status int, headers ...string) {
		h.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			fmt.Fprint(w, "<html>secret banner</html>")
		})
	}
	answer("/page", 200, "Content-Type", "text/csv")
	answer("/401", 401)
	answer("/403", 403)
	answer("/404", 404)
	answer("/410", 410)
	answer("/429", 429, "Retry-After", "7")
	answer("/500", 500)
	answer("/204", 204)
	answer("/504", 504)
	answer("/private", 302, "Location", "https://10.0.0.1/a.csv")
	answer("/metadata", 302, "Location", "https://169.254.169.254/latest")
	answer("/plain", 302, "Location", "http://127.0.0.1:1/a.csv")
	answer("/elsewhere", 302, "Location", newHost(t).URL+"/good")
	answer("/loop", 302, "Location", "/loop")
	answer("/file", 302, "Location", "file:///etc/passwd")
	h.mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	h.mux.HandleFunc("/trickle", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "Name,Age\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	h.mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for line := []byte(strings.Repeat("a,b\n", 1<<10)); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	h.mux.HandleFunc("/claims", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(1<<40))
		w.WriteHeader(200)
	})
	h.mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "Name,Age\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	h.mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/good", 302) })
	h.put("/good", []byte("Name,Age\nAnn,7\n"))
	sheets := map[bool]*sheet.Documents{true: h.documents(short), false: h.documents(patient)} // whether they wait
	for path, want := range map[string]error{
		"/page": source.ErrSheetNotShared, "/401": source.ErrSheetNotShared, "/403": source.ErrSheetNotShared,
		"/404": source.ErrSheetNotFound, "/410": source.ErrSheetNotFound, "/429": source.ErrSheetRateLimited,
		"/500": source.ErrSheetFailed, "/204": source.ErrSheetFailed, "/504": source.ErrSheetTimeout,
		"/private": source.ErrURLNotAllowed, "/metadata": source.ErrURLNotAllowed, "/plain": source.ErrURLNotAllowed,
		"/elsewhere": source.ErrURLNotAllowed, // another port that is not that of https
		"/loop":      source.ErrURLNotAllowed, "/file": source.ErrURLNotAllowed,
		"/slow": source.ErrSheetTimeout, "/trickle": source.ErrSheetTimeout, "/endless": source.ErrFileTooLarge,
		"/claims": source.ErrFileTooLarge,
		"/cut":    source.ErrSheetFailed, "/moved": nil, "/good": nil,
	} {
		t.Run(path, func(t *testing.T) {
			_, err := sheets[path == "/slow" || path == "/trickle"].Preview(t.Context(), "", h.at(path))
			assert.ErrorIs(t, err, want)
			if err != nil && strings.Contains(err.Error(), "banner") {
				t.Errorf("it quotes the host: %v", err)
			}
			if f, ok := errors.AsType[*fault.Error](err); path == "/429" && (!ok || f.RetryAfter != 7*time.Second) {
				t.Errorf("it does not say when to come back: %+v", f)
			}
		})
	}
	t.Run("a host that is not allowed", func(t *testing.T) {
		target := h.at("/good")
		target.Egress = identity.Egress{}
		if _, err := sheets[false].Preview(t.Context(), "", target); !errors.Is(err, source.ErrURLNotAllowed) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a host that does not answer", func(t *testing.T) {
		url := fmt.Sprintf("https://127.0.0.1:%d/a.csv", fixture.ClosedPort(t))
		target := ports.SheetTarget{Egress: loopback, Location: source.SheetLocation{URL: url}}
		if _, err := sheets[false].Preview(t.Context(), "", target); !errors.Is(err, source.ErrSheetFailed) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("an untrusted certificate", func(t *testing.T) {
		if _, err := confined(t, t.TempDir()).Preview(t.Context(), "", h.at("/good")); !errors.Is(err,
			source.ErrSheetFailed) || !strings.Contains(err.Error(), "not signed by a trusted authority") {
			t.Errorf("err = %v", err)
		}
	})
	authority := fixture.NewAuthority(t)
	for name, tt := range map[string]struct {
		valid time.Duration
		host  string
		want  string
	}{
		"a certificate that has expired":        {-time.Hour, "127.0.0.1", "has expired or is not yet valid"},
		"a certificate for another host's name": {time.Hour, "127.0.0.2", "is for another host name"},
	} {
		t.Run(name, func(t *testing.T) {
			certificate, key := authority.Sign(t, tt.valid, tt.host)
			pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
			require.NoError(t, err)
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
			server.StartTLS()
			t.Cleanup(server.Close)
			target := ports.SheetTarget{Egress: loopback, Location: source.SheetLocation{URL: server.URL + "/a.csv"}}
			_, err = confined(t, t.TempDir(), authority.PEM).Preview(t.Context(), "", target)
			if !errors.Is(err, source.ErrSheetFailed) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// TestAChildHoldsTheLargestFileThereMayBe fetches one of 64 MiB less a little, which a child keeps
// whole while it reads it.
func TestAChildHoldsTheLargestFileThereMayBe(t *testing.T) {
	noise := make([]byte, source.MaxSheetBytes-(1<<20))
	rand.NewChaCha8([32]byte{}).Read(noise)
	content := workbook(t, sheetBegin+
		`<sheetData><row><c t="str"><v>Name</v></c></row><row><c><v>1.5</v></c></row></sheetData></worksheet>`,
		[2]string{"xl/media/image1.png", string(noise)})
	var lines strings.Builder
	for lines.Len() < source.MaxSheetBytes-100 {
		lines.WriteString("Ann,7,“quoted”,ann@example.com\n")
	}
	h := newHost(t)
	sheets := confined(t, t.TempDir(), h.pem())
	for name, file := range map[string][]byte{"a workbook": content,
		"a text": []byte("Name,Age,Word,E-mail\n" + lines.String())[:source.MaxSheetBytes]} {
		t.Run(name, func(t *testing.T) {
			path := strings.ReplaceAll("/"+name, " ", "-")
			h.put(path, file)
			if s, err := sheets.Preview(t.Context(), "", h.at(path)); err != nil ||
				s.Preview.Headers[0].Name != "Name" {
				t.Errorf("%+v, %v", s.Preview, err)
			}
		})
	}
}

func TestAFetchEndsWithItsCaller(t *testing.T) {
	h := newHost(t)
	start := make(chan struct{})
	h.mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { close(start); <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := h.documents(limits()).Preview(ctx, "", h.at("/slow"))
		done <- err
	}()
	<-start
	cancel()
	assert.ErrorIs(t, <-done, context.Canceled)
}
