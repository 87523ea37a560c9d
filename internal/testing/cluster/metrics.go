package cluster

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// Metric is the sum of a component's samples that begin so.
func (c *Cluster) Metric(t testing.TB, component, prefix string) float64 {
	t.Helper()
	return SumOf(t, c.Fetch(t, component, "/metrics"), prefix)
}

// SumOf is the sum of the samples that begin so, in what a component serves as its metrics.
func SumOf(t testing.TB, metrics, prefix string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, prefix) {
			fields := strings.Fields(line)
			value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			require.NoError(t, err)
			sum += value
		}
	}
	return sum
}

// Fetch is what a component serves to the administrator.
func (c *Cluster) Fetch(t testing.TB, component, path string) string {
	t.Helper()
	url, err := c.URL(component)
	require.NoError(t, err)
	administrator, err := rest.HTTPClientFor(c.Config())
	require.NoError(t, err)
	response, err := administrator.Get(url + path)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s%s: %s", url, path, body)
	return string(body)
}
