package bigquery

import (
	"encoding/json"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// reasons maps the API's reasons to codes ("Error messages" of BigQuery's documentation).
var reasons = map[string]connection.Code{
	"authError":                connection.AuthFailed,
	"required":                 connection.AuthFailed,   // a token
	"accessNotConfigured":      connection.AuthRejected, // the API is off in the project
	"SERVICE_DISABLED":         connection.AuthRejected, // in newer responses
	"accessDenied":             connection.PermissionDenied,
	"notFound":                 connection.TableNotFound,
	"invalidQuery":             connection.TableNotFound, // a view of something that has changed
	"bytesBilledLimitExceeded": connection.ResponseTooLarge,
	"responseTooLarge":         connection.ResponseTooLarge,
	"stopped":                  connection.QueryTimeout,
	"timeout":                  connection.QueryTimeout,
	"billingNotEnabled":        connection.QuotaExceeded,
	"billingTierLimitExceeded": connection.QuotaExceeded,
	"blocked":                  connection.QuotaExceeded,
	"dailyLimitExceeded":       connection.QuotaExceeded,
	"jobRateLimitExceeded":     connection.QuotaExceeded,
	"quotaExceeded":            connection.QuotaExceeded,
	"rateLimitExceeded":        connection.QuotaExceeded,
	"resourcesExceeded":        connection.QuotaExceeded,
	"userRateLimitExceeded":    connection.QuotaExceeded,
	"backendError":             connection.ServerStarting, // try again
	"internalError":            connection.ServerStarting,
	"tableUnavailable":         connection.ServerStarting,
}

// statuses maps a response's status with an unknown reason to a code.
var statuses = map[int]connection.Code{
	http.StatusUnauthorized:        connection.AuthFailed,
	http.StatusForbidden:           connection.PermissionDenied,
	http.StatusNotFound:            connection.TableNotFound,
	http.StatusTooManyRequests:     connection.QuotaExceeded,
	http.StatusInternalServerError: connection.ServerStarting,
	http.StatusBadGateway:          connection.ServerStarting,
	http.StatusServiceUnavailable:  connection.ServerStarting,
	http.StatusGatewayTimeout:      connection.QueryTimeout,
}

// refusal returns the error for a response of the API other than 200.
func refusal(a warehouse.Answer) connection.Code {
	var body struct {
		Error struct {
			Errors []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
			Details []struct {
				Reason string `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		if a.Status == http.StatusServiceUnavailable || a.Status == http.StatusBadGateway {
			return connection.ServerStarting // an HTML page of the load balancer
		}
		return connection.NotThisDatabase
	}
	for _, e := range append(body.Error.Details, body.Error.Errors...) {
		if code, ok := reasons[e.Reason]; ok {
			return code
		}
	}
	if code, ok := statuses[a.Status]; ok {
		return code
	}
	return connection.Internal
}
