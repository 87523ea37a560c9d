package autoscaler

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// gpu is a device that a plugin lists on a node some time after the node has booted.
const gpu = corev1.ResourceName("example.com/gpu")

// Instance types. Karpenter's provider keeps 100m CPU and 10Mi for the kubelet.
const (
	// small takes a driver and two pods of an application.
	small = "small"
	// withGPUs has two GPUs beside.
	withGPUs = "with-gpus"
)

// instanceTypes is what Karpenter may buy, as its provider reads it.
func instanceTypes() string {
	type requirement struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	}
	offering := func(capacityType string, price float64) map[string]any {
		return map[string]any{"Price": price, "Available": true, "Requirements": []requirement{
			{Key: "karpenter.sh/capacity-type", Operator: "In", Values: []string{capacityType}},
			{Key: corev1.LabelTopologyZone, Operator: "In", Values: []string{"zone-a"}},
		}}
	}
	instance := func(name string, price float64, resources map[corev1.ResourceName]string) map[string]any {
		return map[string]any{
			"name": name, "architecture": "amd64", "operatingSystems": []string{"linux"}, "resources": resources,
			"offerings": []any{offering("on-demand", price), offering("spot", price/2)},
		}
	}
	encoded, err := json.Marshal([]any{
		instance(small, 1, map[corev1.ResourceName]string{"cpu": "3", "memory": "8Gi", "pods": "20"}),
		instance(withGPUs, 3, map[corev1.ResourceName]string{"cpu": "3", "memory": "8Gi", "pods": "20", gpu: "2"}),
	})
	if err != nil {
		panic(err) // of maps and strings
	}
	return string(encoded)
}
