package sheet_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// asked is a network that answers nothing and notes what it was asked.
type asked struct{ requests *[]*http.Request }

func (a asked) Client(*tls.Config) *http.Client { return &http.Client{Transport: a} }

func (a asked) RoundTrip(r *http.Request) (*http.Response, error) {
	*a.requests = append(*a.requests, r)
	return nil, errors.New("no host is there")
}

// FuzzLocation looks for locations that reach anything but a file of the folder, or an https URL without a
// credential in it.
func FuzzLocation(f *testing.F) {
	foreignFolder := f.TempDir()
	folder := filepath.Join(foreignFolder, "sheets")
	require.NoError(f, os.Mkdir(folder, 0o700))
	for _, path := range []string{filepath.Join(foreignFolder, "secret.csv"), filepath.Join(folder, ".secret.csv")} {
		require.NoError(f, os.WriteFile(path, []byte("Secret\nx\n"), 0o600))
	}
	for _, location := range []string{
		"https://sheets.example/a.csv", "http://sheets.example/a.csv", "https://user:pass@sheets.example/a.csv",
		"https:///a.csv", "https://", "HTTPS://sheets.example", "https:sheets.example/a.csv", "//sheets.example/a.csv",
		"ftp://sheets.example/a.csv",
		"file:a.csv", "file:../secret.csv", "file:.secret.csv", "file:/etc/passwd", "file:///etc/passwd",
		"file:..\\secret.csv", "file:%2e%2e/secret.csv", "file:a.csv\x00", "FILE:a.csv", "https://[::1]/a.csv",
		"https://sheets.example:0x50/", "https://a b/", "https://sheets.example/\r\nX: y",
		"https://sheets.example/" + strings.Repeat("a", 3000), "data:text/csv,a",
		"https://sheets.example#@evil.example/", "https://sheets.example\\@evil.example/",
	} {
		f.Add(location, true)
		f.Add(location, false)
	}
	f.Fuzz(func(t *testing.T, location string, files bool) {
		var requests []*http.Request
		d := sheet.NewDocuments(func(identity.Egress, func(uint16) bool, sheet.Limits, time.Time) sheet.Network {
			return asked{&requests}
		}, nil, folder, sheet.DefaultLimits())
		s, err := d.Preview(t.Context(), "", ports.SheetTarget{Location: source.SheetLocation{URL: location},
			Offer: ports.SheetOffer{Files: files}})
		if err == nil {
			t.Errorf("%q is read: %+v", location, s)
		} else if _, ok := errors.AsType[*fault.Error](err); !ok {
			t.Errorf("%q: an error of another kind: %v", location, err)
		}
		for _, r := range requests {
			if u := r.URL; u.Scheme != "https" || u.User != nil || u.Hostname() == "" ||
				strings.ContainsAny(u.Host, "@/\\ \r\n") || len(location) > source.MaxLocation {
				t.Errorf("%q asks for %q", location, u)
			}
		}
	})
}
