package databricks

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// errorCodes maps the API's error codes. Codes that are numbers repeat the status.
var errorCodes = map[string]connection.Code{
	"UNAUTHENTICATED":                   connection.AuthFailed,
	"PERMISSION_DENIED":                 connection.PermissionDenied, // of the warehouse
	"NOT_FOUND":                         connection.DatabaseNotFound, // no such warehouse
	"RESOURCE_DOES_NOT_EXIST":           connection.DatabaseNotFound, // as before
	"INVALID_PARAMETER_VALUE":           connection.DatabaseNotFound, // an ID that cannot be one of a warehouse
	"ENDPOINT_NOT_FOUND":                connection.NotThisDatabase,  // the API does not exist there
	"RESOURCE_EXHAUSTED":                connection.TooManyConnections,
	"REQUEST_LIMIT_EXCEEDED":            connection.TooManyConnections,
	"TEMPORARILY_UNAVAILABLE":           connection.ServerStarting,
	"WORKSPACE_TEMPORARILY_UNAVAILABLE": connection.ServerStarting,
	"SERVICE_UNDER_MAINTENANCE":         connection.ServerStarting,
	"DEADLINE_EXCEEDED":                 connection.QueryTimeout,
	"MALFORMED_REQUEST":                 connection.UnsupportedVersion,
	"FEATURE_DISABLED":                  connection.AuthRejected,
	"CUSTOMER_UNAUTHORIZED":             connection.AuthRejected,
	"QUOTA_EXCEEDED":                    connection.QuotaExceeded,
}

// statuses maps the statuses of responses without a known code.
var statuses = map[int]connection.Code{
	http.StatusUnauthorized:       connection.AuthFailed,
	http.StatusForbidden:          connection.AuthFailed, // "Invalid access token." has only the number as its code
	http.StatusTooManyRequests:    connection.TooManyConnections,
	http.StatusBadGateway:         connection.ServerStarting,
	http.StatusServiceUnavailable: connection.ServerStarting,
	http.StatusGatewayTimeout:     connection.ServerStarting,
}

// refusal returns the error for a response that is not 200: the server did not accept the request.
func refusal(a warehouse.Answer) error {
	var body struct {
		Code json.RawMessage `json:"error_code"` // a name, or a number
	}
	if err := json.Unmarshal(a.Body, &body); err != nil || body.Code == nil {
		if a.Status == http.StatusServiceUnavailable || a.Status == http.StatusBadGateway {
			return connection.ServerStarting // an HTML page of the load balancer
		}
		return connection.NotThisDatabase
	}
	var name string
	if err := json.Unmarshal(body.Code, &name); err == nil {
		if code, ok := errorCodes[name]; ok {
			return code
		}
	}
	if code, ok := statuses[a.Status]; ok {
		return code
	}
	return connection.Internal
}

// states maps SQLSTATEs ("Error conditions" of Databricks' documentation).
var states = map[string]connection.Code{
	"42501": connection.PermissionDenied,
	"42P01": connection.TableNotFound, // what a view reads, or a table that was dropped in the meantime
	"42704": connection.TableNotFound, // its schema or catalog
	"42703": connection.TableNotFound, // a column that was dropped in the meantime
	"42601": connection.UnsupportedVersion,
	"42883": connection.UnsupportedVersion, // a function that it does not have
	"57014": connection.QueryTimeout,
	"HY008": connection.QueryTimeout, // cancelled
	"HYT00": connection.QueryTimeout,
	"53200": connection.ResponseTooLarge,
}

// stated finds the SQLSTATE in a message from a version that has no field for it. Messages of the SQL engine end with
// it.
var stated = regexp.MustCompile(`SQLSTATE: ([0-9A-Z]{5})\s*$`)

// failure returns an ended statement's error, nil if it has rows.
func (r response) failure() error {
	switch r.Status.State {
	case "SUCCEEDED":
		switch {
		case r.Manifest == nil:
			return connection.NotThisDatabase
		case r.Manifest.Truncated:
			return connection.ResponseTooLarge
		}
		return nil
	case "CANCELED": // by someone at the workspace
		return connection.QueryTimeout
	case "FAILED":
	case "CLOSED":
		return connection.Internal
	default:
		return connection.NotThisDatabase
	}
	state := r.Status.SQLState
	if found := stated.FindStringSubmatch(r.Status.Error.Message); state == "" && found != nil {
		state = found[1]
	}
	if code, ok := states[state]; ok {
		return code
	}
	for _, class := range []string{"22", "P0", "KD", "HV", "55"} { // of the data, such as a division by zero
		if strings.HasPrefix(state, class) {
			return connection.Unreadable(state)
		}
	}
	if code, ok := errorCodes[r.Status.Error.Code]; ok && state == "" {
		return code
	}
	return connection.Internal
}

// grantRefused returns the error for a response of the token endpoint (RFC 6749, section 5.2).
func grantRefused(a warehouse.Answer) connection.Code {
	var body struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(a.Body, &body); err == nil {
		switch body.Error {
		case "invalid_client", "invalid_grant":
			return connection.AuthFailed
		case "unauthorized_client", "access_denied", "invalid_scope", "unsupported_grant_type":
			return connection.AuthRejected
		}
	}
	if code, ok := statuses[a.Status]; ok && a.Status != http.StatusForbidden {
		return code
	}
	return connection.NotThisDatabase
}
