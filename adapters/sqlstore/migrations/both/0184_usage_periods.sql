-- +goose Up
-- When the months began over which the usage of a workspace is summed; 0 before its first subscription. It begins with
-- the current period of the subscription, whose sums continue, or with the period of the one that ended last.
ALTER TABLE payment_customers ADD COLUMN usage_since BIGINT NOT NULL DEFAULT 0;
UPDATE payment_customers SET usage_since = COALESCE((SELECT MAX(s.period_start) FROM payment_subscriptions s
	WHERE s.workspace_id = payment_customers.workspace_id AND s.account = payment_customers.account
	AND s.status <> 'incomplete'), 0);
