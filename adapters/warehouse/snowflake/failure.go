package snowflake

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// numbers maps Snowflake's own codes, for cases that neither status nor SQLSTATE decides.
var numbers = map[string]connection.Code{
	"390100": connection.AuthFailed,
	"390101": connection.AuthRejected, // the user is disabled
	"390102": connection.AuthRejected, // the user is locked for a while
	"390144": connection.AuthFailed,   // no such user or key, or a clock that is wrong
	"390186": connection.AuthRejected, // the role is not the user's
	"390189": connection.AuthRejected, // there is no such role
	"390201": connection.DatabaseDeniedOrMissing,
	"390420": connection.AuthRejected,  // a network policy
	"390422": connection.AuthRejected,  // as before
	"090073": connection.QuotaExceeded, // of a resource monitor
	"391908": connection.ResponseTooLarge,
	"000904": connection.TableNotFound, // a column that was dropped since the catalogue was read
	"002037": connection.TableNotFound, // what a view reads
}

// states maps SQLSTATEs to codes.
var states = map[string]connection.Code{
	"02000": connection.TableNotFound, // or this role may not see it
	"42S02": connection.TableNotFound, // as before
	"42501": connection.PermissionDenied,
	"57P03": connection.DatabaseDeniedOrMissing, // no warehouse
	"57014": connection.QueryTimeout,
	"42000": connection.UnsupportedVersion, // a statement that it does not support
	"42601": connection.UnsupportedVersion,
}

// statuses maps the statuses of responses with an unknown code.
var statuses = map[int]connection.Code{
	http.StatusAccepted:       connection.QueryTimeout, // it is still running; its own limit ends it
	http.StatusUnauthorized:   connection.AuthFailed,
	http.StatusForbidden:      connection.AuthRejected,
	http.StatusRequestTimeout: connection.QueryTimeout,
	// concurrent statements, the API's equivalent
	http.StatusTooManyRequests:    connection.TooManyConnections,
	http.StatusServiceUnavailable: connection.ServerStarting,
	http.StatusGatewayTimeout:     connection.QueryTimeout,
}

// refusal returns the error for a response that is not 200.
func refusal(a warehouse.Answer) error {
	var body struct {
		Code  string `json:"code"`
		State string `json:"sqlState"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		if a.Status == http.StatusServiceUnavailable || a.Status == http.StatusBadGateway {
			return connection.ServerStarting // an HTML page of the load balancer
		}
		return connection.NotThisDatabase // or the account does not exist; its host still responds
	}
	if code, ok := numbers[body.Code]; ok {
		return code
	}
	if code, ok := states[body.State]; ok {
		return code
	}
	if strings.HasPrefix(body.State, "22") { // of the data, such as a division by zero
		return connection.Unreadable(body.State)
	}
	if code, ok := statuses[a.Status]; ok {
		return code
	}
	return connection.Internal
}
