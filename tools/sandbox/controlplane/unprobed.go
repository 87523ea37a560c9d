package controlplane

import (
	"bytes"
	"io/fs"
	"strconv"
)

const (
	unprobedReadyArgument = "unprobedReadySeconds"
	unprobedReadyFlag     = "--unprobed-ready-seconds="
	// shippedUnprobedReady is the default of both programs.
	shippedUnprobedReady = 5
)

// setUnprobedReady writes Options.UnprobedReadySeconds into the arguments of the plugin in a scheduler configuration.
func (p *plan) setUnprobedReady(config map[string]any) {
	if p.UnprobedReadySeconds == nil {
		return
	}
	profiles, _ := config["profiles"].([]any)
	for _, profile := range profiles {
		profile, _ := profile.(map[string]any)
		plugins, _ := profile["pluginConfig"].([]any)
		for _, plugin := range plugins {
			plugin, _ := plugin.(map[string]any)
			args, _ := plugin["args"].(map[string]any)
			switch _, known := args[unprobedReadyArgument]; {
			case !known:
			case *p.UnprobedReadySeconds == shippedUnprobedReady:
				delete(args, unprobedReadyArgument)
			default:
				args[unprobedReadyArgument] = *p.UnprobedReadySeconds
			}
		}
	}
}

// unprobedReadyFlags are the flags of the controller that say the same.
func (p *plan) unprobedReadyFlags() []string {
	if p.UnprobedReadySeconds == nil || *p.UnprobedReadySeconds == shippedUnprobedReady {
		return nil
	}
	shipped, err := fs.ReadFile(p.Manifests, shippedSchedulerConfig)
	if err != nil || !bytes.Contains(shipped, []byte(unprobedReadyArgument)) {
		return nil
	}
	return []string{unprobedReadyFlag + strconv.Itoa(int(*p.UnprobedReadySeconds))}
}
