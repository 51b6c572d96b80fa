_scenarioctl_completion() {
    local IFS=$'\n'
    local response

    local -a words=()
    local place word=$COMP_CWORD
    for place in "${!COMP_WORDS[@]}"; do
        if [[ ${COMP_WORDS[place]} == = && $place -lt $COMP_CWORD ]]; then
            word=$((word - 1))
        else
            words+=("${COMP_WORDS[place]}")
        fi
    done

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$word _SCENARIOCTL_COMPLETE=bash_complete $1)

    for completion in $response; do
        IFS=',' read type value <<< "$completion"

        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=($value)
        fi
    done

    return 0
}

_scenarioctl_completion_setup() {
    complete -o nosort -F _scenarioctl_completion scenarioctl
}

_scenarioctl_completion_setup;
