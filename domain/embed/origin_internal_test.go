package embed

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestOriginPatternsHaveOneForm(t *testing.T) {
	for input, want := range map[string]OriginPattern{
		"https://example.com":              "https://example.com",
		"HTTPS://Example.COM":              "https://example.com",
		"https://example.com.":             "https://example.com",
		"https://example.com:443":          "https://example.com",
		"https://example.com.:443":         "https://example.com",
		"https://example.com:8443":         "https://example.com:8443",
		"https://*.example.com":            "https://*.example.com",
		"https://*.Example.com.:443":       "https://*.example.com",
		"https://*.example.com:8443":       "https://*.example.com:8443",
		"https://*.shop.example.co.uk":     "https://*.shop.example.co.uk",
		"https://*.example.co.uk":          "https://*.example.co.uk",
		"https://bücher.example":           "https://xn--bcher-kva.example",
		"https://BÜCHER.example":           "https://xn--bcher-kva.example",
		"https://xn--bcher-kva.example":    "https://xn--bcher-kva.example",
		"https://XN--BCHER-KVA.example":    "https://xn--bcher-kva.example",
		"https://*.bücher.example":         "https://*.xn--bcher-kva.example",
		"https://straße.example":           "https://xn--strae-oqa.example", // ß is a letter, not ss
		"https://example。com":              "https://example.com",           // U+3002
		"https://intranet":                 "https://intranet",
		"https://192.0.2.7:8443":           "https://192.0.2.7:8443",
		"https://localhost:3000":           "https://localhost:3000",
		"http://localhost":                 "http://localhost",
		"http://localhost:80":              "http://localhost",
		"http://LOCALHOST.:3000":           "http://localhost:3000",
		"http://localhost:*":               "http://localhost:*",
		"http://127.0.0.1:5500":            "http://127.0.0.1:5500",
		"http://127.0.0.1:*":               "http://127.0.0.1:*",
		"http://App.localhost:3000":        "http://app.localhost:3000",
		"capacitor://localhost":            "capacitor://localhost",
		"https://a-b.example.com":          "https://a-b.example.com",
		"https://github.io":                "https://github.io",
		"https://me.github.io":             "https://me.github.io",
		"https://*.me.github.io":           "https://*.me.github.io",
		"https://www.example.com:65535":    "https://www.example.com:65535",
		"https://" + long63 + ".example":   OriginPattern("https://" + long63 + ".example"),
		"https://xn--fiqs8s.example:1":     "https://xn--fiqs8s.example:1",
		"https://EXAMPLE.com:443":          "https://example.com",
		"https://9.example.com":            "https://9.example.com",
		"https://*.internal.example.local": "https://*.internal.example.local",
	} {
		got, invalid := parseOriginPattern(input)
		if invalid != nil || got != want {
			t.Errorf("%s: %q, %v, want %s", input, got, invalid, want)
			continue
		}
		if second, mistake := parseOriginPattern(string(got)); mistake != nil || second != got {
			t.Errorf("%s: its own normal form %s reads as %q, %v", input, got, second, mistake)
		}
	}
}

var long63 = strings.Repeat("a", 63)

func TestOriginPatternsAreRefusedWithAReason(t *testing.T) {
	for input, want := range map[string]*originFault{
		"":                                            badOrigin,
		"null":                                        badOrigin,
		"example.com":                                 badOrigin,
		"//example.com":                               badOrigin,
		"https://":                                    badOrigin,
		"https://.":                                   badOrigin,
		"https://:443":                                badOrigin,
		"https://example.com/":                        badOrigin,
		"https://example.com/path":                    badOrigin,
		"https://example.com?q":                       badOrigin,
		"https://example.com#f":                       badOrigin,
		"https://example.com\\.evil.test":             badOrigin,
		"https://user@example.com":                    badOrigin,
		"https://user:pw@example.com":                 badOrigin,
		"https://example.com:":                        badOrigin,
		"https://example.com:0":                       badOrigin,
		"https://example.com:0443":                    badOrigin,
		"https://example.com:+443":                    badOrigin,
		"https://example.com:65536":                   badOrigin,
		"https://example.com:443:443":                 badOrigin,
		"https://example.com..":                       badOrigin,
		"https://.example.com":                        badOrigin,
		"https://exa..mple.com":                       badOrigin,
		"https://-example.com":                        badOrigin,
		"https://exa_mple.com":                        badOrigin,
		"https://example.com ":                        badOrigin,
		" https://example.com":                        badOrigin,
		"https://exam ple.com":                        badOrigin,
		"https://exam\tple.com":                       badOrigin,
		"https://example.com\n":                       badOrigin,
		"https://a.example,https://b.example":         badOrigin,
		"https://%65xample.com":                       badOrigin,
		"https://[2001:db8::1]":                       badOrigin,
		"https://127.1":                               badOrigin,
		"https://0x7f.0.0.1":                          badOrigin,
		"https://192.0.2.256":                         badOrigin,
		"https://192.0.2.07":                          badOrigin,
		"https://2130706433":                          badOrigin,
		"https://xn--a.example":                       badOrigin,
		"https://a" + long63 + ".example":             badOrigin,
		"https://" + strings.Repeat("a.", 126) + "ab": badOrigin,
		"ftp://example.com":                           badOrigin,
		"capacitor://example.com":                     badOrigin,
		"capacitor://localhost:1":                     badOrigin,
		"capacitor://localhost:*":                     badOrigin,
		"capacitor://*.localhost":                     badOrigin,
		"javascript://example.com":                    badOrigin,
		"file://":                                     badOrigin,
		"chrome-extension://abcdef":                   badOrigin,

		"http://example.com":        insecureOrigin,
		"http://localhost.evil.com": insecureOrigin,
		"http://127.0.0.2:3000":     insecureOrigin,
		"http://applocalhost":       insecureOrigin,
		"http://*.example.com":      insecureOrigin,
		"http://*.localhost":        insecureOrigin,

		"*":                        badWildcard,
		"*.example.com":            badWildcard,
		"https://*":                badWildcard,
		"https://*:8443":           badWildcard,
		"https://**.example.com":   badWildcard,
		"https://*.*.example.com":  badWildcard,
		"https://a.*.example.com":  badWildcard,
		"https://www*.example.com": badWildcard,
		"https://*www.example.com": badWildcard,
		"https://example.*":        badWildcard,
		"https://example.com:*":    badWildcard,
		"https://*.example.com:*":  badWildcard,
		"https://localhost:*":      badWildcard,
		"http://localhost:3*":      badWildcard,
		"http://localhost:*/":      badWildcard,
		"http://example.com:*":     badWildcard,
		"https://*.192.0.2.1":      badWildcard,
		"https://＊.example.com":    badOrigin, // a full-width asterisk maps to one, which no host has

		"https://*.com":       publicWildcard,
		"https://*.com.":      publicWildcard,
		"https://*.co.uk":     publicWildcard,
		"https://*.github.io": publicWildcard,
		"https://*.公司.cn":     publicWildcard,
		"https://*.local":     publicWildcard,
	} {
		if got, invalid := parseOriginPattern(input); invalid != want {
			t.Errorf("%q: %q, %v, want %v", input, got, invalid, want)
		}
	}
}

func TestOnlyTheListedOriginsAreLetIn(t *testing.T) {
	list := []OriginPattern{"https://example.com", "https://*.shop.example", "https://*.secure.example:8443",
		"https://app.example:8443", "https://xn--bcher-kva.example", "http://localhost:*", "https://192.0.2.7",
		"http://127.0.0.1:5500", "http://app.localhost:*", "capacitor://localhost"}
	for origin, want := range map[string]bool{
		"https://example.com":           true,
		"https://EXAMPLE.com":           true,
		"https://example.com.":          true,
		"https://example.com:443":       true,
		"https://a.shop.example":        true,
		"https://a.shop.example.:443":   true,
		"https://a.secure.example:8443": true,
		"https://app.example:8443":      true,
		"https://xn--bcher-kva.example": true,
		"http://localhost":              true,
		"http://localhost:1":            true,
		"http://localhost:65535":        true,
		"https://192.0.2.7":             true,
		"http://127.0.0.1:5500":         true,
		"http://app.localhost:3000":     true,
		"capacitor://localhost":         true,

		"":                                 false,
		"null":                             false,
		"Null":                             false,
		"*":                                false,
		"https://*":                        false,
		"https://*.shop.example":           false, // the text of an entry is no origin
		"http://localhost:*":               false,
		"http://example.com":               false,
		"https://example.com:8443":         false,
		"https://example.com..":            false,
		"https://www.example.com":          false,
		"https://example.com.evil.test":    false,
		"https://evil-example.com":         false,
		"https://evilexample.com":          false,
		"https://example.co":               false,
		"https://example.comm":             false,
		"https://example.com@evil.test":    false,
		"https://example.com:x@evil.test":  false,
		"https://evil.test/example.com":    false,
		"https://evil.test#example.com":    false,
		"https://evil.test\\example.com":   false,
		"https://evil.test%2eexample.com":  false,
		"https://example.com evil.test":    false,
		"https://example.com, https://x.y": false,
		"https://example.com\x00":          false,
		"https://shop.example":             false,
		"https://a.b.shop.example":         false,
		"https://.shop.example":            false,
		"https://ashop.example":            false,
		"https://a.shop.example:8443":      false,
		"https://a.secure.example":         false,
		"https://app.example":              false,
		"https://app.example:8444":         false,
		"https://bücher.example":           false, // no browser sends it
		"https://localhost":                false,
		"https://localhost:1":              false,
		"http://localhost:0":               false,
		"http://localhost:65536":           false,
		"http://localhost.evil.test":       false,
		"http://a.localhost":               false,
		"http://127.0.0.1":                 false,
		"capacitor://localhost.":           true, // browsers do not send it
		"capacitor://example.com":          false,
		"capacitor://localhost:8080":       false,
		"http://[::1]":                     false,
		"https://192.0.2.8":                false,
		"https://192.0.2.007":              false,
		"https://3221225991":               false,
		"ftp://example.com":                false,
		"example.com":                      false,
		"//example.com":                    false,
	} {
		o, ok := ParseOrigin(origin)
		assert.Equal(t, origin+": is let in", ok && o.IsIn(list), want)
	}
	t.Run("an address has no hosts below it", func(t *testing.T) {
		if got := Origin("https://192.0.2.7").Patterns(); !slices.Equal(got, []OriginPattern{"https://192.0.2.7"}) {
			t.Error(got)
		}
	})
}

// isAdmitted is the oracle: it splits both sides by other means, and compares part by part.
func isAdmitted(list []string, origin string) bool {
	from, err := url.Parse(origin)
	if err != nil || from.Opaque != "" || from.User != nil || from.Path != "" || from.RawQuery != "" ||
		from.Fragment != "" || strings.ContainsAny(origin, "?#%") {
		return false
	}
	port := func(u *url.URL, scheme string) string {
		if strings.HasSuffix(u.Host, ":") {
			return "none"
		}
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"https": "443", "http": "80"}[scheme]
	}
	labels := func(host string) []string {
		return strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	}
	for _, entry := range list {
		anyPort := strings.HasSuffix(entry, ":*")
		target, err := url.Parse(strings.TrimSuffix(entry, ":*"))
		if err != nil {
			panic(err)
		}
		if from.Scheme != strings.ToLower(target.Scheme) || (!anyPort && port(from, from.Scheme) != port(target,
			target.Scheme)) {
			continue
		}
		if p := port(from, from.Scheme); anyPort && (strings.HasPrefix(p, "0") || len(p) > 5 ||
			(len(p) == 5 && p > "65535") || p == "none") {
			continue
		}
		want, existing := labels(target.Hostname()), labels(from.Hostname())
		same := len(want) == len(existing)
		for i := 0; same && i < len(want); i++ {
			if want[i] == "*" && i == 0 {
				same = plainLabel(existing[i])
			} else {
				same = want[i] == existing[i]
			}
		}
		if same {
			return true
		}
	}
	return false
}

func plainLabel(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) {
			return false
		}
	}
	return s != "" && len(s) <= 63 && !strings.HasPrefix(s, "-") && !strings.HasSuffix(s, "-")
}

var oracleList = []string{"https://example.com", "https://*.example.com", "https://a.b.example.org:8443",
	"https://*.example.org:8443", "http://localhost:*", "https://xn--bcher-kva.example", "https://192.0.2.7"}

func parsedList(t testing.TB, entries []string) []OriginPattern {
	t.Helper()
	list := make([]OriginPattern, len(entries))
	for i, s := range entries {
		p, invalid := parseOriginPattern(s)
		if invalid != nil {
			t.Fatalf("%s: %v", s, invalid)
		}
		list[i] = p
	}
	return list
}

func TestRandomOriginsAreLetInOnlyIfListed(t *testing.T) {
	n := proof.Sample(50_000, 1_000_000)
	rnd := rand.New(rand.NewPCG(proof.Seed(t), 0))
	list := parsedList(t, oracleList)
	acceptances := 0
	for range n {
		s := randomOrigin(rnd)
		o, ok := ParseOrigin(s)
		got := ok && o.IsIn(list)
		if got {
			acceptances++
		}
		if want := isAdmitted(oracleList, s); got != want {
			t.Fatalf("%q is let in: %v; the oracle says %v", s, got, want)
		}
	}
	if acceptances < n/100 || acceptances > n/2 {
		t.Errorf("%d of %d were let in: the test says little", acceptances, n)
	}
}

// randomOrigin returns parts of listed origins, mostly in order, sometimes damaged.
func randomOrigin(rnd *rand.Rand) string {
	pick := func(owners ...string) string { return owners[rnd.IntN(len(owners))] }
	s := pick("https://", "https://", "https://", "https://", "http://", "http://", "HTTPS://",
		pick("https:/", "//", "ftp://", ""))
	for range rnd.IntN(3) {
		s += pick("a.", "a.", "b.", "b.", "A.", "www.", "-.", "*.", "a-b.", ".", "x_y.", "evil-", "0.")
	}
	s += pick("example.com", "example.com", "example.org", "localhost", "localhost", "xn--bcher-kva.example",
		"192.0.2.7", "Example.Com", "bücher.example", "example", "3221225991")
	s += pick("", "", "", "", "", "", ".", "..", ".evil.test", "evil")
	s += pick("", "", "", "", ":443", ":443", ":8443", ":8443", fmt.Sprint(":", rnd.IntN(70_000)), ":8443", ":80",
		fmt.Sprint(":", rnd.IntN(70_000)), ":", ":*", ":0", ":08443", "@evil.test", "/", "?", "#", " ", "\\", "%2e")
	if rnd.IntN(4) == 0 && s != "" { // one byte other than it was
		index := rnd.IntN(len(s))
		s = s[:index] + pick("", "a", ".", "*", ":", "/", "@", "-", "\x00", "\u3002", "E", "9") + s[index+rnd.IntN(2):]
	}
	return s
}

func FuzzOrigin(f *testing.F) {
	for _, s := range []string{
		"https://example.com", "https://a.example.com.:443", "https://a.b.example.org:8443",
		"http://localhost:3000", "null", "",
		"https://example.com..", "https://example.com@evil.test", "https://evil.test\\@example.com",
		"https://example.com:443@evil.test",
		"https://example.com#@evil.test", "https://exa\u3002mple.com", "https://＊.example.com",
		"https://xn--bcher-kva.example",
		"https://bu\u0308cher.example", "https://a\u200d.example.com", "https://*.example.com",
		"https://[::ffff:192.0.2.7]", "https://192.0.2.7.",
		"https://0300.0.2.7", "https://example.com:0443", "http://localhost:*", "http://localhost:00080",
		"HTTPS://EXAMPLE.COM", "https://example.com\x00.evil.test",
		"https://example.com\r\nX: y", "https://-a.example.com", "https://" + long63 + "a.example.com",
	} {
		f.Add(s)
	}
	list := parsedList(f, oracleList)
	f.Fuzz(func(t *testing.T, s string) {
		if o, ok := ParseOrigin(s); ok {
			if second, ok := ParseOrigin(string(o)); !ok || second != o {
				t.Errorf("%q reads as %q, which reads as %q, %v", s, o, second, ok)
			}
			if strings.ContainsAny(string(o), " ;,'\"<>*\r\n\x00") {
				t.Errorf("%q reads as %q, which cannot stand in a header", s, o)
			}
			if got := o.IsIn(list); got && !isAdmitted(oracleList, s) {
				t.Errorf("%q is let in", s)
			}
		}
		p, invalid := parseOriginPattern(s)
		if invalid != nil {
			return
		}
		if second, mistake := parseOriginPattern(string(p)); mistake != nil || second != p {
			t.Errorf("the entry %q reads as %q, which reads as %q, %v", s, p, second, mistake)
		}
		if strings.Contains(string(p), "*") != strings.Contains(s, "*") {
			t.Errorf("the entry %q reads as %q", s, p)
		}
	})
}
