package connection

import (
	"maps"
	"slices"
	"time"
)

// Code says what is wrong with a connection, stable and snake_case: clients switch on it. It is
// the error of everything that reaches a warehouse. What the server or a driver said stays behind:
// such texts hold names of hosts, banners and secrets.
type Code string

// The codes. None is "".
const (
	NetworkNotAllowed       Code = "network_not_allowed" // the same answer whatever is there
	DNSFailed               Code = "dns_failed"
	PortClosed              Code = "port_closed"
	HostUnreachable         Code = "host_unreachable"
	ConnectTimeout          Code = "connect_timeout"   // nobody answered, or not a word was said
	NotThisDatabase         Code = "not_this_database" // something answered in another protocol
	TLSUnsupported          Code = "tls_unsupported"
	TLSRequired             Code = "tls_required"
	TLSUntrusted            Code = "tls_untrusted"
	TLSNameMismatch         Code = "tls_name_mismatch"
	AuthFailed              Code = "auth_failed"   // wrong user, password, key or token
	AuthRejected            Code = "auth_rejected" // a rule of the server's, or a way to sign in that Atrium refuses
	DatabaseNotFound        Code = "database_not_found"
	DatabaseDeniedOrMissing Code = "database_denied_or_missing" // the server does not say which
	PermissionDenied        Code = "permission_denied"
	TableNotFound           Code = "table_not_found"
	TooManyConnections      Code = "too_many_connections"
	ServerStarting          Code = "server_starting" // or stopping
	QueryTimeout            Code = "query_timeout"
	ResponseTooLarge        Code = "response_too_large"
	QuotaExceeded           Code = "quota_exceeded"
	UnsupportedVersion      Code = "unsupported_version"
	Internal                Code = "internal"
)

// CredentialCanWrite warns of a credential that may change data: reading is all that Atrium does.
const CredentialCanWrite Code = "credential_can_write" //nolint:gosec // the name of a warning

// TooManyReads is the code of a probe that was not made (ErrTooManyReads). It is no failure of a connection's.
const TooManyReads Code = "too_many_reads"

func (c Code) Error() string { return string(c) }

// Category says who can mend a failure.
type Category string

// The categories.
const (
	Config    Category = "config"    // somebody must change the credential, the grants or the server
	Transient Category = "transient" // it may pass by itself
	System    Category = "system"    // Atrium is at fault
)

// Failure is what is wrong and what to do about it.
type Failure struct {
	Code      Code
	Category  Category
	Fields    []string // of the credential, that are probably wrong
	Retryable bool     // the same again may work without a change
	Hint      string   // one sentence for the person who has to mend it
	At        time.Time
}

// about names a group of a credential's fields; each descriptor says which fields are in it.
type about string

const (
	nothing  about = ""
	network  about = "network"
	security about = "tls"
	login    about = "login"
	database about = "database"
)

type cause struct {
	category  Category
	retryable bool
	about     about
	hint      string
}

// causes is the one table of failures.
var causes = map[Code]cause{
	NetworkNotAllowed:       {Config, false, network, "Atrium may not connect to this address. Use a host name with a public address, or ask the operator to allow its network."},
	DNSFailed:               {Config, true, network, "The host name cannot be resolved. Check its spelling, and that it has a public DNS record."},
	PortClosed:              {Config, true, network, "The host refuses connections on this port. Check the port, and that the server runs and listens on this address."},
	HostUnreachable:         {Transient, true, network, "There is no route to the host. Check the address and the network in between."},
	ConnectTimeout:          {Transient, true, network, "The host does not answer. Check the address and port, and that its firewall lets Atrium's addresses in."},
	NotThisDatabase:         {Config, false, network, "Something answers there, but not this kind of database. Check the port and the kind."},
	TLSUnsupported:          {Config, false, security, "The server does not offer a TLS that Atrium accepts. Turn on TLS 1.2 or newer there, or change the connection's TLS mode."},
	TLSRequired:             {Config, false, security, "The server takes encrypted connections only. Change the connection's TLS mode."},
	TLSUntrusted:            {Config, false, security, "The server's certificate is expired, or not signed by an authority that is trusted. Give the authority's certificate."},
	TLSNameMismatch:         {Config, false, security, "The server's certificate is for another name than the host's. Use the name that is in the certificate."},
	AuthFailed:              {Config, false, login, "The server refuses these credentials. Check them, and that they have not expired."},
	AuthRejected:            {Config, false, login, "The server's rules do not let this user in from here, or it wants a way to sign in that Atrium does not use."},
	DatabaseNotFound:        {Config, false, database, "There is no database with this name. Check its spelling, upper and lower case included."},
	DatabaseDeniedOrMissing: {Config, false, database, "There is no such database, or the user may not use it."},
	PermissionDenied:        {Config, false, login, "The user may not read this. Run the grants for this kind of connection."},
	TableNotFound:           {Config, false, nothing, "There is no such table, or the user cannot see it."},
	TooManyConnections:      {Transient, true, nothing, "The server has no connection left for this user. Try again later, or raise its limit."},
	ServerStarting:          {Transient, true, nothing, "The server is starting up, shutting down or recovering. Try again soon."},
	QueryTimeout:            {Transient, true, nothing, "The server did not answer in time. Try again when it is less busy."},
	ResponseTooLarge:        {Config, false, nothing, "The answer is larger than Atrium reads. Choose a narrower table."},
	QuotaExceeded:           {Transient, true, nothing, "A quota of the warehouse's is used up. Try again later, or raise it."},
	UnsupportedVersion:      {Config, false, network, "The server speaks a version of its protocol that Atrium does not. Upgrade the server."},
	Internal:                {System, true, nothing, "Atrium could not work this out. Try again; if it stays, tell the operator."},
}

// Codes lists every code that a connection can fail with, in alphabetical order.
func Codes() []Code { return slices.Sorted(maps.Keys(causes)) }

// Failure says of a failure with code what is known about it for connections of kind k. A code
// that is none of Codes reads as Internal.
func (k Kind) Failure(code Code, at time.Time) Failure {
	c, ok := causes[code]
	if !ok {
		code, c = Internal, causes[Internal]
	}
	return Failure{Code: code, Category: c.category, Fields: k.fields(c.about), Retryable: c.retryable, Hint: c.hint, At: at}
}

// Category returns who can mend a failure with this code.
func (c Code) Category() Category {
	if known, ok := causes[c]; ok {
		return known.category
	}
	return System
}
