package embed

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Origin is a page's origin as a browser sends it (RFC 6454, section 7): scheme://host, with :port unless it is the
// scheme's default, in lower case and without a final dot. Origins that are equal to a browser are equal as texts.
type Origin string

// Values other than an origin.
const (
	NoOrigin     Origin = ""     // not sent by a browser, or not by a script of another site
	OpaqueOrigin Origin = "null" // of a sandboxed frame, or of a file: any site can produce it

	// ForeignOrigin replaces every value that cannot be parsed. No list admits it.
	ForeignOrigin Origin = "foreign"
)

// OriginPattern is an entry in a list of admitted origins, in normal form: an Origin; https://*.host[:port] for the
// hosts exactly one label below host; or http://localhost:* for every port, also of another name of this computer.
type OriginPattern string

const (
	anyLabel      = "*."
	localhost     = "localhost"
	anyPort       = ":*"
	capacitor     = "capacitor" // scheme of the pages of applications for iOS that are made with Capacitor
	maxHostLength = 253         // RFC 1035, section 3.1, without the final dot
)

// originFault describes an error in an entry: the code and the detail of a fault.Field.
type originFault struct{ code, detail string }

var (
	badOrigin = &originFault{"invalid_origin",
		"Must be https://host[:port], https://*.host[:port], http://localhost with a port or :*, or " +
			"capacitor://localhost; no path, query or credentials."}
	insecureOrigin = &originFault{"insecure_origin", "http is allowed only for localhost, names below it and " +
		"127.0.0.1: on any other host, an attacker on the network could impersonate the site."}
	badWildcard = &originFault{"invalid_wildcard",
		"A wildcard stands for the first label of a host, as in https://*.example.com, or for the port of " +
			"http://localhost."}
	publicWildcard = &originFault{"public_suffix",
		"Anyone can register a name directly below that host: list your own hosts."}
)

// ParseOrigin reads an Origin header, or a URL's origin part. Anything else is ForeignOrigin. Browsers do not send a
// host that is not ASCII (WHATWG URL, host serializing).
func ParseOrigin(header string) (Origin, bool) {
	if header == string(NoOrigin) || header == string(OpaqueOrigin) {
		return Origin(header), true
	}
	scheme, host, port, ok := splitOrigin(header)
	if !ok {
		return ForeignOrigin, false
	}
	if host, ok = cleanHost(host); !ok {
		return ForeignOrigin, false
	}
	if port, ok = cleanPort(scheme, port); !ok {
		return ForeignOrigin, false
	}
	return Origin(scheme + "://" + host + port), true
}

// Patterns returns every entry that admits o. Matching means looking for one of these few texts in a
// list or in a database index.
func (o Origin) Patterns() []OriginPattern {
	scheme, rest, ok := strings.Cut(string(o), "://")
	if !ok {
		return nil // absent or opaque: no list admits it
	}
	patterns := []OriginPattern{OriginPattern(o)}
	host, port, _ := strings.Cut(rest, ":")
	switch {
	case scheme == "http" && isLocal(host):
		patterns = append(patterns, OriginPattern("http://"+host+anyPort))
	case scheme == "https" && !endsInNumber(host):
		if _, parent, isSubdomain := strings.Cut(host, "."); isSubdomain {
			if port != "" {
				port = ":" + port
			}
			patterns = append(patterns, OriginPattern("https://"+anyLabel+parent+port))
		}
	}
	return patterns
}

// IsIn reports whether an entry of list admits o.
func (o Origin) IsIn(list []OriginPattern) bool {
	return slices.ContainsFunc(o.Patterns(), func(p OriginPattern) bool { return slices.Contains(list, p) })
}

// parseOriginPattern reads an entry as entered by a person: in any case, internationalised, with the
// scheme's default port, with a final dot.
func parseOriginPattern(s string) (OriginPattern, *originFault) {
	scheme, host, port, ok := splitOrigin(s)
	if !utf8.ValidString(s) { // idna would guess
		return "", badOrigin
	}
	if !ok {
		if strings.Contains(s, "*") && !strings.ContainsAny(s, "/?#@\\ ") {
			return "", badWildcard // * alone, or a host without a scheme
		}
		return "", badOrigin
	}
	host, wild := strings.CutPrefix(host, anyLabel)
	hasAnyPort := port == anyPort
	if strings.Contains(host, "*") || (strings.Contains(port, "*") && !hasAnyPort) {
		return "", badWildcard
	}
	host, err := idna.Lookup.ToASCII(host) // IDNA as browsers do it (UTS 46, not transitional)
	if err != nil {
		return "", badOrigin
	}
	if host, ok = cleanHost(host); !ok {
		return "", badOrigin
	}
	local := scheme == "http" && isLocal(host) && !wild
	switch {
	case local && hasAnyPort:
		return OriginPattern("http://" + host + anyPort), nil
	case scheme == capacitor && (wild || host+port != localhost):
		return "", badOrigin
	case hasAnyPort, wild && endsInNumber(host):
		return "", badWildcard
	case scheme == "http" && !local:
		return "", insecureOrigin
	case wild && isPublicSuffix(host):
		return "", publicWildcard
	}
	if port, ok = cleanPort(scheme, port); !ok {
		return "", badOrigin
	}
	if wild {
		host = anyLabel + host
	}
	return OriginPattern(scheme + "://" + host + port), nil
}

// splitOrigin splits scheme://host[:port]; port keeps its colon. Anything else in a URL stays in host
// or port, which the caller rejects.
func splitOrigin(s string) (scheme, host, port string, ok bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	if !ok || (scheme != "https" && scheme != "http" && scheme != capacitor) {
		return "", "", "", false
	}
	if colon := strings.IndexByte(rest, ':'); colon >= 0 {
		return scheme, rest[:colon], rest[colon:], true
	}
	return scheme, rest, "", true
}

// isLocal reports whether a host is the visitor's own computer (Secure Contexts, section 3.1; RFC 6761, section 6.3).
func isLocal(host string) bool {
	return host == localhost || strings.HasSuffix(host, "."+localhost) || host == "127.0.0.1"
}

// cleanHost lower-cases a name or an IPv4 address and removes one final dot. It accepts only letters,
// digits and hyphens, because a Content-Security-Policy cannot name other hosts (CSP level 3,
// host-part). This excludes IPv6 addresses.
func cleanHost(host string) (string, bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if len(host) > maxHostLength {
		return "", false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return "", false
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return "", false
			}
		}
	}
	if endsInNumber(host) {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Is4() {
			return "", false
		}
	}
	return host, true
}

// endsInNumber reports whether a browser parses a host as an IPv4 address (WHATWG URL, ends in a number
// checker).
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == ""
}

// cleanPort removes the scheme's default port.
func cleanPort(scheme, port string) (string, bool) {
	switch {
	case port == "", scheme == "https" && port == ":443", scheme == "http" && port == ":80":
		return "", true
	case port[0] != ':', len(port) < 2, port[1] < '1', port[1] > '9': // no sign and no leading zero
		return "", false
	}
	_, err := strconv.ParseUint(port[1:], 10, 16)
	return port, err == nil
}

// isPublicSuffix reports whether unrelated parties can register names below host (publicsuffix.org, as
// of this build). A host of one label always counts as a public suffix.
func isPublicSuffix(host string) bool {
	suffix, _ := publicsuffix.PublicSuffix(host)
	return suffix == host
}
