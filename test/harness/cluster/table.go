package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Row is the row that kubectl get prints of an object.
type Row struct {
	// Header names the columns, Wide those that only -o wide has.
	Header, Wide []string
	// Cells are the values by column, as kubectl shows them.
	Cells map[string]string
}

// Row asks the API server for the row of an object, as kubectl get does.
func (s *Story) Row(object client.Object) Row {
	s.Helper()
	kind, err := apiutil.GVKForObject(object, Scheme)
	require.NoError(s, err)
	mapping, err := s.API.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	require.NoError(s, err)
	path := "/apis/" + kind.GroupVersion().String()
	if object.GetNamespace() != "" {
		path += "/namespaces/" + object.GetNamespace()
	}
	config := s.Cluster.Config()
	web, err := rest.HTTPClientFor(config)
	require.NoError(s, err)
	defer web.CloseIdleConnections()
	request, err := http.NewRequestWithContext(s.Ctx, http.MethodGet, config.Host+path+"/"+mapping.Resource.Resource+"/"+object.GetName(), nil)
	require.NoError(s, err)
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := web.Do(request)
	require.NoError(s, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(s, http.StatusOK, response.StatusCode)
	var table metav1.Table
	require.NoError(s, json.NewDecoder(response.Body).Decode(&table))
	require.Len(s, table.Rows, 1)

	row := Row{Cells: map[string]string{}}
	for i, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			row.Header = append(row.Header, column.Name)
		} else {
			row.Wide = append(row.Wide, column.Name)
		}
		if cell := table.Rows[0].Cells[i]; cell != nil {
			row.Cells[column.Name] = fmt.Sprint(cell)
		}
	}
	return row
}
