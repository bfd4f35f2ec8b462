package connection

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Code identifies what is wrong with a connection. It is stable and snake_case: clients switch on it. Everything that
// reaches a warehouse returns it as its error. The texts of servers and drivers are dropped, because they contain host
// names, banners and secrets.
type Code string

// The codes. "" means that there is no failure.
const (
	NetworkNotAllowed       Code = "network_not_allowed" // the same result whatever exists there
	DNSFailed               Code = "dns_failed"
	PortClosed              Code = "port_closed"
	HostUnreachable         Code = "host_unreachable"
	ConnectTimeout          Code = "connect_timeout"   // no connection, or no first byte
	NotThisDatabase         Code = "not_this_database" // the server speaks another protocol
	TLSUnsupported          Code = "tls_unsupported"
	TLSRequired             Code = "tls_required"
	TLSUntrusted            Code = "tls_untrusted"
	TLSExpired              Code = "tls_expired" // or not yet valid
	TLSNameMismatch         Code = "tls_name_mismatch"
	AuthFailed              Code = "auth_failed"   // wrong user, password, key or token
	AuthRejected            Code = "auth_rejected" // a rule of the server, or a method that Atrium refuses
	DatabaseNotFound        Code = "database_not_found"
	DatabaseDeniedOrMissing Code = "database_denied_or_missing" // the server does not distinguish them
	PermissionDenied        Code = "permission_denied"
	TableNotFound           Code = "table_not_found"
	TableUnreadable         Code = "table_unreadable" // the server cannot compute its rows; see UnreadableError
	TooManyConnections      Code = "too_many_connections"
	ServerStarting          Code = "server_starting"     // or stopping
	BackendUnreachable      Code = "backend_unreachable" // a pooler has no server behind it
	PoolingUnsupported      Code = "pooling_unsupported" // a pooler without transactions
	QueryTimeout            Code = "query_timeout"
	ResponseTooLarge        Code = "response_too_large"
	OutOfMemory             Code = "out_of_memory" // one read needs more than Atrium gives it
	QuotaExceeded           Code = "quota_exceeded"
	UnsupportedVersion      Code = "unsupported_version"
	Internal                Code = "internal"
)

// CredentialCanWrite warns of a credential that may change data. Atrium only reads.
const CredentialCanWrite Code = "credential_can_write" //nolint:gosec // a warning's name

// TooManyReads is a probe's code if it did not run (ErrTooManyReads). It is not a failure of the connection.
const TooManyReads Code = "too_many_reads"

// NotRun is a probe's code if it did not run because Atrium's own database was away. It is not a failure of the
// connection either.
const NotRun Code = "not_run"

func (c Code) Error() string { return string(c) }

// Category is who can fix a failure.
type Category string

// The categories.
const (
	Config    Category = "config"    // a person must change the credential, the grants or the server
	Transient Category = "transient" // it may resolve without a change
	System    Category = "system"    // an error in Atrium
)

// Failure describes a failure and how to fix it.
type Failure struct {
	Code      Code
	Category  Category
	Fields    []string // credential fields that are probably wrong
	Retryable bool     // a retry may work without a change
	Hint      string   // one sentence for the person who fixes it
	Answered  Service  // what a probe recognised at the address; "" if nothing
	At        time.Time
}

// about names a group among a credential's fields. Each descriptor lists the fields of each group.
type about string

const (
	nothing  about = ""
	network  about = "network"
	hostOnly about = "host" // of network
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

// causes is the table of all failures.
var causes = map[Code]cause{
	NetworkNotAllowed: {Config, false, network,
		"Atrium may not connect to this address. Use a host name with a public address, or ask the operator to allow " +
			"its network."},
	DNSFailed: {Config, true, network,
		"The host name cannot be resolved. Check its spelling, and that it has a public DNS record."},
	PortClosed: {Config, true, network,
		"The host refuses connections on this port, or closes them at once. Check the port, and that the server runs " +
			"and listens on this address."},
	HostUnreachable: {Transient, true, network,
		"There is no route to the host. Check the address and the network in between."},
	ConnectTimeout: {Transient, true, network,
		"The host does not respond. Check the address and the port, and that its firewall allows Atrium's addresses."},
	NotThisDatabase: {Config, false, network,
		"A server responds at this address, but it is not this kind of database. Check the port and the kind."},
	TLSUnsupported: {Config, false, security,
		"The server does not support a version of TLS that Atrium accepts. Check the port, and turn on TLS 1.2 or " +
			"newer on the server."},
	TLSRequired: {Config, false, security,
		"The server requires encrypted connections. Change the connection's TLS mode."},
	TLSUntrusted: {Config, false, security,
		"No trusted authority signed the server's certificate. Add the authority's certificate to the connection."},
	TLSExpired: {Config, false, nothing,
		"The server's certificate has expired or is not yet valid. Renew it on the server, and check the clocks of " +
			"both machines."},
	TLSNameMismatch: {Config, false, hostOnly,
		"The server's certificate is for another host name. Use the name in the certificate."},
	AuthFailed: {Config, false, login,
		"The server refuses these credentials. Check that they are correct and have not expired."},
	AuthRejected: {Config, false, login,
		"The server's rules refuse this user at Atrium's address, or require a sign-in method that Atrium does not " +
			"support."},
	DatabaseNotFound: {Config, false, database,
		"There is no database with this name. Check its spelling, including upper and lower case."},
	DatabaseDeniedOrMissing: {Config, false, database, "There is no such database, or the user may not use it."},
	PermissionDenied: {Config, false, login,
		"The user may not read this. Run the grants for this kind of connection."},
	TableNotFound: {Config, false, nothing, "There is no such table, or the user cannot see it."},
	TableUnreadable: {Config, false, nothing,
		"The server reports an error in the data or the definition of this table. Select from it with another client " +
			"to see the error, and correct the table or view."},
	TooManyConnections: {Transient, true, nothing,
		"The server has no connection left for this user. Try again later, or raise its limit."},
	ServerStarting: {Transient, true, nothing,
		"The server is starting up, shutting down or recovering. Try again soon."},
	BackendUnreachable: {Transient, true, nothing,
		"The credentials are correct, but the database behind this address does not respond. If a pooler or a " +
			"proxy listens here, check that it can reach its server and sign in there. A suspended database may need " +
			"more time."},
	PoolingUnsupported: {Config, false, network,
		"The pooler at this address does not allow transactions, and Atrium reads in a transaction that cannot " +
			"write. Set the pooler to transaction or session mode, or use the port of the server itself."},
	QueryTimeout: {Transient, true, nothing,
		"The server did not respond in time. Try again when it is less busy."},
	ResponseTooLarge: {Config, false, nothing, "The result is larger than Atrium reads. Choose a narrower table."},
	OutOfMemory: {Config, false, nothing,
		"Reading this needs more memory than one read has. Map fewer columns, or shorten the longest texts by a view."},
	QuotaExceeded: {Transient, true, nothing,
		"A quota of the warehouse is used up. Try again later, or raise the quota."},
	UnsupportedVersion: {Config, false, network,
		"The server uses a version of its protocol that Atrium does not support. Upgrade the server."},
	TokenUnavailable: {Transient, true, nothing,
		"Google's server for tokens cannot be reached, or reports a failure, so there is nothing to sign in with. " +
			"Check that Atrium's network allows connections to oauth2.googleapis.com."},
	ConsentEnded: {Config, false, nothing,
		"Google no longer accepts the consent: the person withdrew it, it was not used for six months, or the app is " +
			"in testing, where consents last 7 days. Connect with Google again."},
	SSHHostKeyMismatch: {Config, false, sshKey,
		"The SSH server has another host key than the connection. If the server was set up again, replace the host " +
			"key. If it was not, another server may be intercepting the connection."},
	SSHUnsupported: {Config, false, sshServer,
		"No SSH server responds at this address, or it has no key of the type of the connection's host key. Check " +
			"the host, the port and the host key."},
	SSHAuthFailed: {Config, false, sshLogin,
		"The SSH server refuses the user, the private key or the password. Check them, and that the passphrase is " +
			"that of the key."},
	SSHForwardingRefused: {Config, false, sshServer,
		"The SSH server forbids this user to forward connections. Allow it, for example by AllowTcpForwarding and " +
			"PermitOpen."},
	SSHTargetUnreachable: {Config, true, network,
		"The SSH server cannot connect to the host and port of the database. Use the name and the port that the " +
			"database has there."},
	Internal: {System, true, nothing, "Atrium could not determine the cause. Try again. If it fails again, tell the " +
		"operator."},
}

// Codes lists every code that a connection can fail with, in alphabetical order.
func Codes() []Code { return slices.Sorted(maps.Keys(causes)) }

// Failure describes a failure with code for connections of kind k. An unknown code reads as Internal.
func (k Kind) Failure(code Code, now time.Time) Failure {
	c, ok := causes[code]
	if !ok {
		code, c = Internal, causes[Internal]
	}
	return Failure{
		Code:      code,
		Category:  c.category,
		Fields:    k.fields(c.about),
		Retryable: c.retryable,
		Hint:      c.hint,
		At:        now,
	}
}

// behindFirewalls are the codes of failures that a firewall, or a server's rules for addresses, can cause.
var behindFirewalls = []Code{PortClosed, HostUnreachable, ConnectTimeout, AuthRejected}

// WithAddresses returns f with a hint that names the addresses from which Atrium connects, if that can help.
func (f Failure) WithAddresses(e identity.Egress) Failure {
	if texts := e.AddressTexts(); len(texts) > 0 && slices.Contains(behindFirewalls, f.Code) {
		f.Hint += " Atrium connects from " + strings.Join(texts, ", ") + "."
	}
	return f
}

// Category returns who can fix a failure with this code.
func (c Code) Category() Category {
	if cause, ok := causes[c]; ok {
		return cause.category
	}
	return System
}
