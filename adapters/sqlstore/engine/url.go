package engine

import (
	"net/url"
	"strings"
)

// NormalURL returns a postgres:// URL as lib/pq reads it. libpq also reads host:port,host:port, which tools such as
// Patroni print; lib/pq needs the ports of several hosts in the parameter port. Other URLs stay as they are.
func NormalURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || !strings.Contains(u.Host, ",") || strings.Contains(u.Host, "[") || u.Query().Has("port") {
		return raw
	}
	var hosts, ports []string
	for address := range strings.SplitSeq(u.Host, ",") {
		host, port, given := strings.Cut(address, ":")
		if !given {
			port = "5432"
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	u.Host = strings.Join(hosts, ",")
	query := u.Query()
	query.Set("port", strings.Join(ports, ","))
	u.RawQuery = query.Encode()
	return u.String()
}
