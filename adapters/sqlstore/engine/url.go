package engine

import (
	"net/url"
	"strings"
)

// PrimaryURL returns a postgres:// URL for lib/pq with which it connects only to a primary, unless the URL asks for
// another kind of server.
func PrimaryURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	query := u.Query()
	if attrs := query.Get("target_session_attrs"); attrs == "" || attrs == "any" {
		query.Set("target_session_attrs", "primary")
	}
	u.RawQuery = query.Encode()
	return NormalURL(u.String())
}

// NormalURL returns a postgres:// URL as lib/pq reads it. libpq also reads host:port,host:port, which tools such as
// Patroni print; lib/pq needs the ports of several hosts in the parameter port. Other URLs stay as they are.
func NormalURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || !strings.Contains(u.Host, ",") || strings.Contains(u.Host, "[") || u.Query().Has("port") {
		return raw
	}
	var hosts, ports []string
	for address := range strings.SplitSeq(u.Host, ",") {
		host, port, isSet := strings.Cut(address, ":")
		if !isSet {
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
