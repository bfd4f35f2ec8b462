package connection

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// tidyHost corrects a credential's host, which people paste from elsewhere: it removes spaces, a scheme and a slash at
// the end, and moves a port to its field. It returns what is wrong with a host that means something else; a zero Field
// if the kind's schema can check the host.
func tidyHost(d *Descriptor, fields map[string]any) fault.Field {
	text, ok := fields[FieldHost].(string)
	if !ok || !slices.Contains(d.fields[network], FieldHost) {
		return fault.Field{}
	}
	problem := func(detail string) fault.Field {
		return fault.Field{Pointer: "/credential/" + FieldHost, Code: "invalid_format", Detail: detail}
	}
	host := strings.TrimSpace(text)
	if scheme, rest, found := strings.Cut(host, "://"); found && scheme != "" {
		if host = strings.TrimSuffix(rest, "/"); strings.ContainsAny(host, "/@?") {
			return problem("Must be only the name of the host. Its port, database and user have fields of their own.")
		}
	}
	port := ""
	if literal, rest, found := strings.Cut(strings.TrimPrefix(host, "["), "]"); found && strings.HasPrefix(host, "[") {
		host, port = literal, strings.TrimPrefix(rest, ":") // an IPv6 address
	} else if strings.Count(host, ":") == 1 {
		host, port, _ = strings.Cut(host, ":")
	}
	if port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return problem("Must be only the name of the host. What follows the colon is not a port.")
		}
		number, hasPort := fields[FieldPort].(json.Number)
		if hasPort && number.String() != port {
			return problem("Names another port than the field port. Enter only the name of the host.")
		}
		fields[FieldPort] = json.Number(port)
	}
	fields[FieldHost] = host
	return fault.Field{}
}
