package connection

import (
	"slices"
	"time"
)

// Service is a protocol that a probe recognised at a connection's address. It is stable and snake_case.
type Service string

// The services. "" means that none was recognised.
const (
	ServiceHTTP             Service = "http"
	ServiceTLS              Service = "tls" // any protocol within TLS, such as HTTPS
	ServiceSSH              Service = "ssh"
	ServiceRedis            Service = "redis"
	ServiceClickHouseNative Service = "clickhouse_native" // Atrium uses the HTTP interface of ClickHouse
	ServiceMySQL            Service = "mysql"             // and MariaDB
	ServicePostgres         Service = "postgres"
	ServiceRedshift         Service = "redshift" // which speaks PostgreSQL's protocol; only its version shows it
	ServiceSQLServer        Service = "sqlserver"
	ServiceMail             Service = "mail" // SMTP, IMAP, POP3; FTP begins in the same way
)

// services holds the names of services in hints.
var services = map[Service]string{
	ServiceHTTP:             "A web server (HTTP)",
	ServiceTLS:              "A server that expects TLS from the first byte, such as HTTPS,",
	ServiceSSH:              "An SSH server",
	ServiceRedis:            "A Redis server",
	ServiceClickHouseNative: "ClickHouse's native protocol",
	ServiceMySQL:            "A MySQL or MariaDB server",
	ServicePostgres:         "A PostgreSQL server",
	ServiceRedshift:         "Amazon Redshift",
	ServiceSQLServer:        "A Microsoft SQL Server",
	ServiceMail:             "A mail or file server",
}

// spoken lists the services that a kind's servers can be.
var spoken = map[Kind][]Service{
	ClickHouse: {ServiceHTTP, ServiceTLS},
	MySQL:      {ServiceMySQL},
	Postgres:   {ServicePostgres},
	Redshift:   {ServicePostgres}, // before it tells its version
	SQLServer:  {ServiceSQLServer},
}

// Speaks reports whether a server of kind k can be recognised as s.
func (k Kind) Speaks(s Service) bool { return slices.Contains(spoken[k], s) }

// ServiceError is a probe's failure if at its address a service was recognised.
type ServiceError struct {
	Code    Code
	Service Service
}

func (e *ServiceError) Error() string { return string(e.Code) + ": " + string(e.Service) }

// Unwrap returns the code.
func (e *ServiceError) Unwrap() error { return e.Code }

// Recognised returns a probe's error if it failed with code at an address where s was recognised. It is NotThisDatabase
// if s is not a service of kind k.
func (k Kind) Recognised(code Code, s Service) error {
	switch {
	case s == "":
		return code
	case !k.Speaks(s):
		return &ServiceError{Code: NotThisDatabase, Service: s}
	case code == NotThisDatabase && k == ClickHouse: // another web server
		return &ServiceError{Code: code, Service: ServiceHTTP}
	case code == TLSUnsupported: // it is the right kind of server, without TLS
		return &ServiceError{Code: code, Service: s}
	}
	return code
}

// failureOf is Failure for a probe with these checks: it names the service that the probe recognised.
func (k Kind) failureOf(checks []Check, code Code, now time.Time) Failure {
	f := k.Failure(code, now)
	for _, c := range checks {
		if c.Result == Failed {
			f.Answered = c.Answered
		}
	}
	title, isKnown := services[f.Answered]
	if !isKnown {
		return f
	}
	switch code {
	case NotThisDatabase:
		f.Hint = title + " responds at this address, and not " + k.title() + ". Check the port and the kind."
		if k == ClickHouse && f.Answered == ServiceClickHouseNative {
			f.Hint = title + " responds at this port, and Atrium uses the HTTP interface. Use its port, usually " +
				"8443 with TLS or 8123."
		}
	case TLSUnsupported:
		f.Hint += " If no one else can use the network in between, you can also set the connection's TLS mode to " +
			"disable."
	}
	return f
}

func (k Kind) title() string {
	if d, ok := Describe(k); ok {
		return d.Title
	}
	return string(k)
}
