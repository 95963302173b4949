"""A live conversation: the session, how one is made, and what it consists of.

The map, from the way in to what everything rests on:

    factory, session *   sessions are made; prompts, cancelling, mode and model: the only way in and out of the core
    intake *, on_demand  what a user sends; parts that are made when somebody asks for them
    commands             a live session, as slash commands see it (`live`)
    tasks                what a model gives to agents, and what is proposed of their work
    learning             the project's profile and its memory
    completion           what the user may mean where they type
    library              the stored conversations of all projects
    navigation           going back and forth in a conversation
    turns *              prompts on their way into turns, one turn after the other
    services             settings, tools, the shell and MCP servers of a session's turns
    replay               a conversation is shown again
    opening, keeping     what a session is opened with; how a conversation is kept
    process              what the sessions of a process share

A room imports only rooms below it (`.importlinter`).
"""
