/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h - every maximum of the house, by name.
 *
 * Passing one is an ordinary error (TH_ELIMIT) or an outcome in the log; each
 * has a test at its edge.  Sizes are in bytes.  Keep the list sorted by part.
 */
#ifndef TH_BASE_LIMITS_H
#define TH_BASE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define TH_KIB ((size_t)1024)
#define TH_MIB (TH_KIB * 1024)

/* base */
#define TH_JSON_SIZE_MAX (64 * TH_MIB) /* one document */
#define TH_JSON_DEPTH_MAX 64
#define TH_FRAME_SIZE_MAX (64 * TH_MIB) /* one message between our processes */
#define TH_FRAME_JSON_MAX (16 * TH_MIB)
#define TH_COMPUTER_ACTIONS_SIZE_MAX \
	(TH_FRAME_JSON_MAX - TH_MIB) /* as JSON; a whole clipboard fits, also twice */
#define TH_NUMBER_TEXT_MAX 400       /* characters of a number that th_str_f64 reads */
#define TH_TABLE_FIELDS_MAX 256      /* fields of one table */
#define TH_NAME_NEAR_MAX 64          /* bytes of a name that "did you mean" looks at */
#define TH_REGEX_TEXT_MAX 1024       /* bytes of a regular expression, and of what it is held to */
#define TH_REGEX_STEPS_MAX 1024      /* states of its machine */
#define TH_REGEX_DEPTH_MAX 32        /* groups in groups */
#define TH_REGEX_WORK_MAX 65536      /* pieces read while it is compiled; repeats are read again */

/* core */
#define TH_CALLS_MAX 128               /* calls in one model answer */
#define TH_ACTIONS_MAX 64              /* computer actions in one call */
#define TH_DRAG_POINTS_MAX 256         /* points of one drag path */
#define TH_CHORD_KEYS_MAX 8            /* keys of one chord */
#define TH_TYPE_TEXT_MAX (64 * TH_KIB) /* text of one type action */
#define TH_WAIT_MS_MAX 60000           /* one wait or hold */
#define TH_CLICK_COUNT_MAX 3
#define TH_KEY_REPEAT_MAX 100 /* presses of one chord */
#define TH_POINT_MAX 1000000  /* a coordinate, each way from 0, before a screen is known */
#define TH_SCROLL_MAX 10000   /* notches or pixels of one scroll, each way */
#define TH_EVENT_DATA_MAX (16 * TH_MIB)
#define TH_SESSION_ITEMS_MAX 100000        /* items in one session's history */
#define TH_PROVIDER_STATE_MAX (1 * TH_MIB) /* names and limits that a session keeps in memory */
#define TH_SESSION_ID_MAX 128
#define TH_TASK_ID_MAX (TH_SESSION_ID_MAX + 24) /* of a session and a number, as in a path */
#define TH_MESSAGE_MAX (4 * TH_MIB)             /* one message of a person */
#define TH_AGENT_TOOLS_MAX 128
#define TH_RULES_MAX 128 /* of one agent */
#define TH_RULE_PATTERN_MAX (1 * TH_KIB)
#define TH_RULE_TEXT_MAX (8 * TH_KIB)      /* of an argument, to look for a pattern in */
#define TH_FUNCTION_NAME_MAX 64            /* bytes of a name that providers take for a function */
#define TH_SCHEMA_SIZE_MAX (1 * TH_MIB)    /* a schema made strict, as text */
#define TH_SCHEMA_MEMORY_MAX (16 * TH_MIB) /* while it is made */
#define TH_SCHEMA_DEPTH_MAX 100            /* schemas in schemas, references followed */
#define TH_SCHEMA_NODES_MAX 100000         /* schemas looked at, references followed */
#define TH_SCHEMA_MEMBERS_MAX 1024         /* of one object of a schema */
#define TH_SCHEMA_CHECK_DEPTH_MAX 256      /* schemas under way while a value is checked */
#define TH_SCHEMA_STEPS_MAX 10000000       /* schemas and members looked at for it */
#define TH_SCHEMA_FAULTS_MAX 8             /* sentences about one value */
#define TH_SCHEMA_SHOWN_MAX 80             /* bytes of a value in such a sentence */
#define TH_TRACE_SPANS_MAX 200000          /* of one session's log */
#define TH_TRACE_MEMORY_MAX (256 * TH_MIB) /* their names */
#define TH_TRACE_TEXT_MAX 200              /* bytes of a name or message of a span */
#define TH_TRACE_BODY_MAX (64 * TH_MIB)    /* an export of them */
#define TH_UNRESOLVED_MAX 64               /* effects of unknown outcome that a session remembers */
#define TH_FALLBACK_MAX 8                  /* models that an agent may fall back to */
#define TH_TEAM_MAX 64                     /* agents of one agent file */
#define TH_HANDOFFS_MAX 64                 /* of one agent */
#define TH_DELEGATES_MAX 256               /* open sessions that work for one, theirs included */
#define TH_DELEGATES_PARALLEL_DEFAULT 10   /* of these, at work for one itself */
#define TH_DELEGATES_PARALLEL_MAX 100      /* where limits.parallel_agents says so */
#define TH_COST_USD_MAX 1000000            /* that a person gives a session at once */
#define TH_JUDGE_ROUNDS_DEFAULT 3          /* verdicts in one task */
#define TH_JUDGE_ROUNDS_MAX 10
#define TH_GOAL_MAX (64 * TH_KIB) /* bytes of a goal that a session is given */
#define TH_GOAL_ROUNDS_DEFAULT 10 /* verdicts on it */
#define TH_GOAL_ROUNDS_MAX 100
#define TH_JUDGE_MISSING_MAX 20               /* sentences of a verdict */
#define TH_JUDGE_TEXT_MAX (8 * TH_KIB)        /* bytes of them, as the model is told */
#define TH_QUARANTINE_TEXT_MAX (256 * TH_KIB) /* of a result that is read in quarantine */
#define TH_QUARANTINE_CALL_MAX (4 * TH_KIB)   /* of the call, as the reader is told */
#define TH_QUARANTINE_ANSWER_MAX 4000         /* bytes of its answer, */
#define TH_QUARANTINE_FACTS_MAX 32            /* of its facts, */
#define TH_QUARANTINE_FACT_MAX 400            /* and of one of them */
#define TH_BACKGROUND_MAX 64                  /* of these, tasks in the background of one session */
#define TH_DELEGATE_DEPTH_MAX 4               /* a session that works for one that works for … */
#define TH_DELEGATE_TURNS_DEFAULT 10          /* model turns of an agent that is a tool */
#define TH_GUARDRAILS_MAX 32                  /* of one agent */
#define TH_GUARD_INPUT_MAX (3 * TH_EVENT_DATA_MAX) /* that one is asked about at once */
#define TH_HOOK_SECONDS_DEFAULT 60                 /* of a hook that is a program */
#define TH_HOOK_SECONDS_MAX 600
#define TH_HOOK_COMMAND_MAX \
	(16 * TH_KIB)              /* its command line, or the policy that a model is asked by */
#define TH_ASKED_MAX (64 * TH_KIB) /* a question beside a session */
#define TH_HOOK_ASKED_MAX (256 * TH_KIB) /* what that model is told */
#define TH_HOOK_TURNS_DEFAULT 3          /* answers of a model that may look first */
#define TH_HOOK_TURNS_MAX 20
#define TH_HOOK_TOOLS_MAX 16             /* that it may be given */
#define TH_HOOK_LOOKS_MAX 8              /* calls in one of its answers */
#define TH_HOOK_LOOK_MAX (32 * TH_KIB)   /* bytes of a result that it reads */
#define TH_HOOK_TEXT_MAX (32 * TH_KIB)   /* bytes that it tells the model, or gives as a reason */
#define TH_HOOKS_FILE_MAX (256 * TH_KIB) /* a hooks.json */
#define TH_SENT_BACK_MAX 10 /* times in a task that an agent is sent back from a final output */
#define TH_ANALYSERS_MAX 8  /* external analysers of an agent */
#define TH_ANALYSER_SECONDS_DEFAULT 10
#define TH_ANALYSER_SECONDS_MAX 120
#define TH_CRITIC_SECONDS_DEFAULT 300
#define TH_CRITIC_SECONDS_MAX 600
#define TH_CRITIC_LABELS_MAX 64
#define TH_BACKGROUND_SECONDS_MAX 86400 /* that the tool `background` waits */
#define TH_ANALYSER_ANSWER_MAX (64 * TH_KIB)
#define TH_COMPACT_SUMMARY_MAX (64 * TH_KIB) /* bytes of a summary that are used */
#define TH_COMPACT_REFERENCES_MAX 100      /* messages of the user that a summary names by event */
#define TH_COMPACT_STATE_MAX (16 * TH_KIB) /* bytes that are said again with each note */
#define TH_COMPACT_LISTED_MAX (2 * TH_MIB) /* bytes of a history that is listed for a model */
#define TH_HISTORY_EXCERPT 300             /* bytes of a hit that the model is shown */
#define TH_HISTORY_READ_MAX (16 * TH_KIB)  /* of an event that it reads at once */
#define TH_RESTATED_MAX (6 * TH_KIB)       /* bytes of a model's notes, and of its task list */
#define TH_SEARCH_HITS_MAX 20              /* events that a search of a session's words gives */
#define TH_SEARCH_WORDS_MAX 32             /* of a query */
#define TH_CONDENSERS_MAX 16               /* of a pipeline */
#define TH_COMPACT_PINS_MAX (256 * TH_KIB) /* bytes of the user's messages that stay */
#define TH_COMPACT_TASK_PERCENT 50         /* of what a model takes, for the task's own words */
#define TH_RESULT_SHOWN_MIN 1024           /* bytes of a result that a model is shown at least, */
#define TH_RESULT_SHOWN_DEFAULT (48 * TH_KIB) /* and where the agent file does not say */
#define TH_LOG_SHORT_MAX 128                  /* events: more of a log are read beside the loop */
#define TH_VIEW_LOG_MIN 500                   /* events: a shorter log is read again instead */
#define TH_CONTEXT_CUTS_MAX 4                 /* times that a history is shortened for one answer */
#define TH_HOSTS_SAID_MAX 64     /* hosts that a person allowed or refused in one session */
#define TH_STICKY_MAX 64         /* tools that were approved or refused for good in one session */
#define TH_ASKED_IDS_MAX 4096    /* ids of calls that people were asked about in one session */
#define TH_STUCK_MOVES_MAX 64    /* last moves in which an agent may repeat itself */
#define TH_STOP_TOOLS_MAX 64     /* tools whose result ends the run */
#define TH_OBSERVATION_LINES 200 /* of a file, in the look that follows an unknown outcome */
#define TH_MARKS_MAX 300         /* elements marked on one picture */
#define TH_MARKS_LISTED_MAX 100  /* told in words beside the picture */
#define TH_BROWSER_MARKS_ASKED_MAX 2000 /* elements of a page that are asked where they are */
#define TH_MARK_NAME_MAX 80             /* bytes of an element's name for a model */
#define TH_MARK_ROLE_MAX 24             /* of what it is */
#define TH_MARK_NUMBER_MAX 999          /* then numbers begin again */

/* wire, models */
#define TH_SSE_LINE_MAX (16 * TH_MIB)          /* one line of an event stream */
#define TH_SSE_NAME_MAX 256                    /* name or id of an event */
#define TH_ANSWER_MAX (32 * TH_MIB)            /* one model answer, decoded */
#define TH_TURN_MEMORY_MAX (4 * TH_ANSWER_MAX) /* the open calls of one answer */
#define TH_ANSWER_ITEMS_MAX 1024
#define TH_ANSWER_START_MAX 1024 /* what is kept of a body that is no answer, for its message */
#define TH_MODEL_NAME_MAX 256
#define TH_PATCH_LINES_MAX 1000000         /* of a file that is patched, and of a diff */
#define TH_PATCH_MEMORY_MAX (128 * TH_MIB) /* their lists */
#define TH_PATCH_STEPS_MAX 50000000        /* lines compared to place one diff */
#define TH_PATCH_REASON_MAX (4 * TH_KIB)   /* why a diff does not fit */
#define TH_PATCH_FILES_MAX 64              /* of one patch */
#define TH_RESPONSE_ID_MAX 256             /* of an answer that the next request may go on from */
#define TH_REASKS_MAX 3 /* answers in a row that could not be read; the next one ends the run */
#define TH_RETRY_FIRST_MS 500 /* first wait between tries, at most; doubles */
#define TH_RETRY_MAX_MS 60000
#define TH_RETRY_HINT_MAX_MS 60000      /* a server's own wish is followed up to here */
#define TH_REQUEST_MAX (256 * TH_MIB)   /* one request body */
#define TH_HUMAN_LINE_MAX (64 * TH_KIB) /* one answer of a person at the terminal */
#define TH_HUMAN_SHOWN_MAX (8 * TH_KIB) /* of one message, unless he asks for all of it */

/* io */
#define TH_HTTP_HEADER_MAX (64 * TH_KIB)
#define TH_HTTP_BODY_MAX (64 * TH_MIB)
#define TH_HTTP1_HEAD_MAX (32 * TH_KIB) /* method, target and headers of a request to us */
#define TH_HTTP1_HEADERS_MAX 100
#define TH_HTTP1_EXTRA_MAX (8 * TH_KIB)   /* chunk extensions and trailers of a request */
#define TH_HTTP1_BODY_MAX (64 * TH_MIB)   /* of a request; most endpoints take less */
#define TH_HTTP_CONNECTIONS_MAX 20000     /* of one server */
#define TH_HTTP_HEAD_MS 10000             /* from a request's first byte to the end of its head */
#define TH_HTTP_BODY_MS 60000             /* from there to the end of its body */
#define TH_HTTP_IDLE_MS 75000             /* a connection without a request */
#define TH_HTTP_STALL_MS 30000            /* a peer that takes no byte of what waits for it */
#define TH_HTTP_LINGER_MS 2000            /* what comes after a refusal is read over for so long */
#define TH_HTTP_AHEAD_MAX (64 * TH_KIB)   /* read before the request before is answered */
#define TH_HTTP_QUEUE_MAX (256 * TH_KIB)  /* of a stream; its writer is told to wait */
#define TH_HTTP_REPLY_MAX (160 * TH_MIB)  /* one answer at once */
#define TH_HTTP_MESSAGE_MAX (16 * TH_MIB) /* of a WebSocket */
#define TH_HTTP_READY_MAX 16              /* connections to others between two looks at the time */
#define TH_WORKERS 4
#define TH_CHILDREN_MAX 256

/* store */
#define TH_BLOB_MAX (64 * TH_MIB)
#define TH_BLOB_OVER \
	(64 * TH_KIB) /* a larger one goes to the place for blobs, where there is one */
#define TH_BLOB_GRACE_MS (24 * 60 * 60 * 1000LL) /* what nobody names stays in a place so long */
#define TH_BLOB_FRESH_MS (10 * 60 * 1000LL)      /* after its put an object is still to be named */
#define TH_BLOB_WALK_MS (6 * 60 * 60 * 1000LL)   /* between two walks through all of a place */
#define TH_BLOB_CLEAN_MS (10 * 60 * 1000LL)      /* between two looks for what is to be removed */
#define TH_PLACES_MAX 64                         /* that one store ever had */
#define TH_PLACE_URL_MAX 1024                    /* bytes */
#define TH_PLACE_CALLS_MAX 16    /* requests to an object store at a time, of one thread */
#define TH_PLACE_TRIES_MAX 4     /* of one of them */
#define TH_PLACE_PAUSE_MS 200    /* before the second; doubles, with jitter */
#define TH_PLACE_WAIT_MS 10000   /* no further try begins after it */
#define TH_PLACE_CONNECT_MS 3000 /* name, TCP, TLS */
#define TH_PLACE_IDLE_MS 5000    /* without a byte */
#define TH_PLACE_CALL_MS 60000   /* one try */
#define TH_PLACE_REST_MS 30000   /* one that failed is left alone; blobs go to the database */
#define TH_PLACE_LOOK_MS 10000   /* between two looks at which place it is */
#define TH_PLACE_LIST_MAX 1000   /* objects in one answer */
#define TH_PLACE_LIST_SIZE_MAX (2 * TH_MIB) /* bytes of it */
#define TH_PLACE_REMOVES_MAX 200            /* objects removed in one piece */
#define TH_S3_KEY_MAX 1024 /* bytes of a key's name, of its secret; of a bucket and prefix */
#define TH_S3_TOKEN_MAX (8 * TH_KIB)
#define TH_BATCH_EVENTS_MAX 65536 /* events of one transaction */
#define TH_FORK_DEPTH_MAX 64      /* a fork of a fork of … */
#define TH_STORE_PATH_MAX 3840    /* leaves room for the names beside it */
#define TH_STORE_URL_MAX 2000     /* bytes of a server's */
#define TH_OUTBOX_NAME_MAX 64     /* bytes of the name of a line that a runtime leaves */
#define TH_OUTBOX_LINE_MAX TH_MIB /* of its text */
#define TH_OUTBOX_LINES_MAX 2048  /* put at a time */
/* Texts of dead runtimes, taken at a time; a line more. */
#define TH_OUTBOX_TAKEN_MAX (24 * TH_MIB)
#define TH_FLEET_CLAIM_MAX 256    /* sessions of the dead, taken in one transaction */
#define TH_PRIORITY_AGE_MS 300000 /* of waiting, that raise a priority by one */
#define TH_FLEET_TRIED_MAX 1024   /* of them, that are remembered for a while */
#define TH_FLEET_RETRY_MS 1000    /* until one that was left again is taken again; doubles */
#define TH_FLEET_RETRY_MAX_MS 600000
#define TH_FLEET_NODES_MAX 1000            /* of one store */
#define TH_FLEET_SECRET_MAX 512            /* bytes of the token with which nodes call each other */
#define TH_FLEET_FORWARDS_MAX 16384        /* requests that one node passes on at a time */
#define TH_FLEET_TRIES_MAX 4               /* of one request, when its session moves meanwhile */
#define TH_FLEET_LOOK_MS 2000              /* between two looks at who lives */
#define TH_FLEET_TELL_MS 250               /* between two words of a node to the others */
#define TH_FLEET_IDLE_S 3600               /* without a byte of an answer of another node */
#define TH_LABELS_MAX 8                    /* that an agent asks for, or that a node is given */
#define TH_LABEL_MAX 24                    /* bytes of one */
#define TH_FLEET_TEXT_MAX 256              /* a node's name; its address */
#define TH_STORE_SLOW_MS 1000              /* a statement that takes longer is slow */
#define TH_STORE_SLOW_MAX 8                /* of those under way, that are told */
#define TH_STORE_SLOW_TEXT_MAX 120         /* bytes of one of them */
#define TH_STORE_LEASE_MS 9000             /* without a word from the database, then it is lost */
#define TH_USED_SAID_MS 60000              /* a running session tells what it took so often */
#define TH_LEASES_MAX 256                  /* taken, and as many given back, at a time */
#define TH_RESERVATION_NAME_MAX 64         /* bytes */
#define TH_LEASE_GIVE_TRIES 7              /* while the database cannot be reached */
#define TH_STORE_BUSY_MS 10000             /* how long another process may write */
#define TH_STORE_CACHE_MAX (1 * TH_MIB)    /* pages that one connection keeps */
#define TH_STORE_WAL_PAGES 4096            /* written back to the database when the log has more */
#define TH_STORE_RECENT_MAX (512 * TH_KIB) /* newer than the rows of sessions, then shortened */
#define TH_STORE_WAYPOINT_LOGS 8           /* long logs that are being read in pieces */
#define TH_STORE_WAYPOINTS_MAX 1024        /* of each */
#define TH_READS_MAX 4096                  /* asked beside the loop, and not answered yet */
#define TH_READ_RESULTS_MAX 4              /* of them: given in one pass of the loop */
#define TH_READ_PIECE_EVENTS 256           /* of a log that is read in pieces */
#define TH_READ_PIECE_BYTES (256 * TH_KIB) /* of a piece; then at most one more event */
#define TH_OPEN_EVENTS_MAX 1000            /* a longer log is read in pieces when it is opened */
#define TH_OPEN_PASS_EVENTS 64             /* of these, taken in one pass of the loop */
#define TH_TASK_TEXT_MAX (4 * TH_KIB)      /* of a session's first task, to find it by */
#define TH_REMOVE_SESSIONS_MAX 4096        /* at once: a session, and those that work for it */
#define TH_SWEEP_EVENTS_MAX 1000           /* removed or looked at in one transaction */
#define TH_SWEEP_BYTES_MAX (4 * TH_MIB)    /* of these */
#define TH_SWEEP_BLOBS_MAX 4096            /* looked for in one walk through the events */
#define TH_SWEEP_DELETES_MAX 32            /* blobs removed in one transaction */
#define TH_USAGE_GROUPS_MAX 65536          /* lines of what was used, in one answer */
#define TH_STORE_WAL_BUFFER_MAX (124 * TH_KIB) /* of a commit, written at once */
#define TH_VERIFY_MEMORY_MAX (1024 * TH_MIB)   /* ids of the sessions that are verified at once */
#define TH_OWNER_SWEEP_MAX 256 /* files of dead runtimes looked at when a store is opened */

/* computers */
#define TH_SCREEN_SIDE_MAX 16384
#define TH_SCREEN_PIXELS_MAX (64 * 1024 * 1024)
#define TH_CLIPBOARD_MAX (4 * TH_MIB)
#define TH_LIVE_TILE_WIDTH 256 /* of a live view, in pixels: as large a part as is sent at once */
#define TH_LIVE_TILE_HEIGHT 128
#define TH_LIVE_TILES_MAX (TH_SCREEN_PIXELS_MAX / (TH_LIVE_TILE_WIDTH * TH_LIVE_TILE_HEIGHT) + 256)
#define TH_LIVE_WATCHES_MAX 16  /* of one computer, each with a format and rate of its own */
#define TH_LIVE_RATE_DEFAULT 15 /* frames in a second, at most */
#define TH_LIVE_RATE_MAX 30
#define TH_LIVE_RETRY_MS 500 /* between two looks for an executor that nobody here has started */
#define TH_LIVE_VIEWERS_MAX 4096         /* of all screens, in one runtime */
#define TH_IMAGE_SIZE_MAX (256 * TH_MIB) /* one encoded picture */
#define TH_DESKTOP_START_MS 15000        /* Xvfb, then the window manager */
#define TH_DESKTOP_END_MS 4000           /* for a desktop to clean up after itself */
/* Commands of one desktop that somebody waits for: all that its executor may have under way. */
#define TH_DESKTOP_JOBS_MAX (TH_EXEC_RUNNING_MAX + TH_DESKTOP_START_MAX)
#define TH_DESKTOP_REQUEST_MAX (2 * TH_MIB) /* arguments and environment of one */
#define TH_WAIT_MS_DEFAULT 1000             /* a wait that does not say how long */
#define TH_SETTLE_QUIET_MS 16               /* see th_settle_options */
#define TH_SETTLE_FIRST_MS 80
#define TH_SETTLE_MAX_MS 500
#define TH_SETTLE_BETWEEN_FIRST_MS 30 /* between two actions of one request: a menu opens */
#define TH_SETTLE_BETWEEN_MAX_MS 200
#define TH_SETTLE_SCROLL_QUIET_MS 60 /* after a scroll: some frames of a slow browser */
#define TH_SETTLE_SCROLL_MAX_MS 1000
#define TH_OCR_OUTPUT_MAX (4 * TH_MIB)    /* what tesseract may say of one picture */
#define TH_OCR_WORDS_MAX 20000            /* words of it that are read */
#define TH_OCR_MS 20000                   /* for one picture, or all canvases of one */
#define TH_PARSER_ITEMS_MAX 20000         /* boxes of a parser's answer that are read */
#define TH_PARSER_MS 60000                /* for its answer */
#define TH_DBUS_MESSAGE_MAX (4 * TH_MIB)  /* one message of the accessibility bus */
#define TH_BUS_ADDRESS_MAX 1024           /* of the accessibility bus of a display */
#define TH_TREE_ITEMS_MAX 5000            /* objects of all programs that are asked about */
#define TH_TREE_MEMORY_MAX (64 * TH_MIB)  /* what they say */
#define TH_TREE_MS 2000                   /* for all of them */
#define TH_XAUTHORITY_MAX (1 * TH_MIB)    /* a file of xauth */
#define TH_X11_CONNECT_MS 3000            /* connecting to an X server and setting up */
#define TH_X11_REPLY_MS 950               /* silence of an X server that counts as frozen */
#define TH_X11_REPLY_TOTAL_MS 60000       /* one reply, however slowly it trickles in */
#define TH_X11_UNSYNCED_MAX (64 * TH_KIB) /* requests sent before the server must have answered */

/* browser */
#define TH_CDP_READ_MAX (256 * TH_KIB)      /* read from a browser's pipe at once */
#define TH_BROWSER_COMMAND_MAX (8 * TH_MIB) /* sent to it at once */
#define TH_BROWSER_START_MS 20000           /* until it answers */
#define TH_BROWSER_END_MS 2000              /* to close in order */
#define TH_BROWSER_REPLY_MS 15000           /* silence of a page that counts as hung */
#define TH_BROWSER_LOAD_MS 30000            /* until a page has come */
#define TH_BROWSER_TABS_MAX 16              /* open at once; a pop-up beyond is closed */
#define TH_BROWSER_SESSIONS_MAX 128         /* tabs, and frames with a process of their own */
#define TH_BROWSER_URL_MAX (2 * TH_KIB)     /* what is kept, and told, of an address */
#define TH_BROWSER_TITLE_MAX 200            /* bytes of a page's title */
#define TH_BROWSER_DIALOG_MAX 1000          /* bytes of what a dialog says */
#define TH_BROWSER_TYPE_KEYS_MAX 1000    /* characters typed key by key; longer texts are put in */
#define TH_BROWSER_DRAG_STEPS 10         /* moves between two points of a drag */
#define TH_BROWSER_NOTCH_PIXELS 100      /* that a wheel scrolls by one notch */
#define TH_BROWSER_QUIET_MS 40           /* some frames without a change: it is quiet */
#define TH_BROWSER_SETTLE_LOAD_MS 5000   /* a picture waits so long for a page on its way */
#define TH_PAGE_NODES_MAX 50000          /* of the accessibility trees of one page */
#define TH_PAGE_FRAMES_MAX 64            /* of one page */
#define TH_PAGE_DEPTH_MAX 512            /* of the frames and nodes of a page, one in the other */
#define TH_PAGE_TEXT_MAX (4 * TH_MIB)    /* of a whole snapshot */
#define TH_PAGE_NAME_MAX 120             /* characters of an element's name */
#define TH_PAGE_VALUE_MAX 200            /* and of its value */
#define TH_PAGE_PIECE_MAX 2000           /* of one piece of text */
#define TH_PAGE_OPTIONS_MAX 12           /* choices of a list that are named with it */
#define TH_PAGE_REFS_MAX 100000          /* elements that are remembered by their number */
#define TH_PAGE_SHOWN_MAX (16 * TH_KIB)  /* of a snapshot, to a model */
#define TH_PAGE_CHANGES_MAX (4 * TH_KIB) /* and of what has changed */
#define TH_BROWSER_WAIT_S_MAX 120        /* longest wait for a condition */
#define TH_BROWSER_WAIT_S 10             /* one that does not say how long */
#define TH_BROWSER_FILES_MAX 32          /* put into a file input at once */
#define TH_BROWSER_LOG_LINE_MAX 400      /* bytes of a line of a page's console */
#define TH_BROWSER_DOWNLOADS_MAX 16      /* that are remembered */
#define TH_BROWSER_DOWNLOAD_MAX (1024 * TH_MIB) /* one file that is downloaded or uploaded */
#define TH_BROWSER_DOWNLOAD_MS 3000             /* an action waits so long for one that it began */
#define TH_BROWSER_FILE_NAME_MAX 120            /* bytes of a downloaded file's name */
#define TH_BROWSER_CRASHES_MAX 3                /* tabs that are loaded again after a crash */

/* script */
#define TH_SCRIPT_SOURCE_MAX (64 * TH_KIB)
#define TH_SCRIPT_MEMORY_MAX (16 * TH_MIB) /* of one state */
#define TH_SCRIPT_BLOCK_MAX (2 * TH_MIB)   /* one string or table of it */
#define TH_SCRIPT_INSTRUCTIONS_MAX 2000000 /* of one call */
#define TH_SCRIPT_WALL_MS 1000             /* the same, should instructions be slow */
#define TH_SCRIPT_VALUE_MAX (1 * TH_MIB)   /* what crosses, as JSON, each way */
#define TH_SCRIPT_DEPTH_MAX 32             /* of such a value */
#define TH_SCRIPT_SEATS_MAX 4              /* states that are made by a copy, of the process */
#define TH_SCRIPT_SEAT_SIZE (128 * TH_KIB) /* bytes of one with its libraries */
#define TH_SCRIPT_SAID_MAX (8 * TH_KIB)    /* what it prints */
#define TH_SCRIPT_NAME_MAX 80              /* of a function that is called */
#define TH_SCRIPT_CAPTURES_MAX 32          /* of a pattern */
#define TH_SCRIPT_MATCH_DEPTH_MAX 200      /* repetitions and captures inside each other */

/* tools, executor */
#define TH_TOOL_OUTPUT_MAX (1 * TH_MIB)        /* what one call may give back to the log */
#define TH_TOOL_OUTPUT_MODEL_MAX (32 * TH_KIB) /* what of it the model is shown */
#define TH_FILE_WRITE_MAX (16 * TH_MIB)
#define TH_EDIT_FILE_MAX (10 * TH_MIB)     /* of a file that `edit` shows or changes */
#define TH_EDIT_PLACES_MAX 100             /* where a text stands that should stand once */
#define TH_EDIT_ENTRIES_MAX 1000           /* of a folder that it shows */
#define TH_EDIT_SEEN_MAX 256               /* files whose last seen content it remembers */
#define TH_FETCHED_BODY_MAX (8 * TH_MIB)   /* of a page that `fetch` reads */
#define TH_FETCHED_TEXT_MAX (512 * TH_KIB) /* of the text that it gives */
#define TH_FETCHED_REDIRECTS_MAX 10
#define TH_MEMORY_SWEEP_MAX 100000       /* entries that one `delete` of `memory` removes */
#define TH_MEMORY_DEPTH_MAX 64           /* folders below each other that it removes */
#define TH_UNDO_STEPS_MAX 10             /* edits of one file that can be taken back */
#define TH_UNDO_ENTRIES_MAX 500          /* of all files of a session */
#define TH_UNDO_BYTES_MAX (64 * TH_MIB)  /* what they replaced */
#define TH_TOOL_PICTURE_MAX (5 * TH_MIB) /* file of a picture that a tool shows */
#define TH_SKILLS_MAX 100                /* of an agent */
#define TH_SKILL_SIZE_MAX 65536          /* bytes of one */
#define TH_SKILLS_SAID_MAX 262144        /* bytes of those that are always said, and the list */
#define TH_SKILL_NAME_MAX 128
#define TH_SKILL_ABOUT_MAX 1024           /* bytes of a description */
#define TH_SKILL_WORDS_MAX 64             /* in one list of a skill */
#define TH_SKILL_DEPTH_MAX 4              /* folders below the workspace that are looked into */
#define TH_SKILL_WALK_MAX 4096            /* names that are looked at there */
#define TH_GLOB_SIZE_MAX 1024             /* a pattern of paths */
#define TH_GLOB_STEPS_MAX 100000          /* to match it */
#define TH_GLOB_DEPTH_MAX 64              /* stars and braces inside each other */
#define TH_IGNORE_SIZE_MAX (256 * TH_KIB) /* a .gitignore; a larger one is not looked at */
#define TH_IGNORE_RULES_MAX 4096
#define TH_SEARCH_PATTERN_MAX (4 * TH_KIB)
#define TH_SEARCH_MATCHES_MAX 200        /* lines or files that are shown */
#define TH_SEARCH_LINE_MAX 400           /* bytes of a line that are shown */
#define TH_SEARCH_FILE_MAX (16 * TH_MIB) /* a larger one is passed over, and said */
#define TH_SEARCH_FILES_MAX 200000       /* looked at by one search */
#define TH_SEARCH_BYTES_MAX (2048 * (uint64_t)TH_MIB)
#define TH_SEARCH_DEPTH_MAX 64     /* folders inside each other */
#define TH_SEARCH_FOLDER_MAX 50000 /* entries of one folder */
#define TH_SEARCH_MS_MAX 20000
#define TH_BASH_SESSIONS_MAX 8 /* shells of one session, by name */
#define TH_BASH_NAME_MAX 32
#define TH_BASH_QUEUE_MAX 64            /* calls that wait for one shell */
#define TH_BASH_INPUT_MAX 4000          /* one line of input: a terminal takes 4095 */
#define TH_BASH_IDLE_MS 30000           /* without new output: the call returns, it runs on */
#define TH_BASH_WAIT_MAX_S 3600         /* the longest wait that a call may ask for */
#define TH_BASH_GRACE_MS 2000           /* from one way of ending a command to the next */
#define TH_BASH_UNREAD_MAX (8 * TH_MIB) /* output that nobody asks for; then it waits */
#define TH_PYTHON_PICTURES_MAX 7        /* of one cell */
#define TH_PYTHON_REPORT_MAX (TH_PYTHON_PICTURES_MAX * 7 * TH_MIB) /* they in base64 */
#define TH_PYTHON_PACKAGES_MAX 32 /* of one call of python_install */
#define TH_PYTHON_PACKAGE_MAX 120 /* bytes of a name with its versions */
/* servers of tools (MCP) */
#define TH_MCP_SERVERS_MAX 16                /* of one agent */
#define TH_MCP_TOOLS_MAX 128                 /* of one server that an agent may call */
#define TH_MCP_LISTED_MAX 1000               /* that are looked at in a server's list */
#define TH_MCP_PAGES_MAX 64                  /* of such a list */
#define TH_MCP_LIST_SIZE_MAX (384 * TH_KIB)  /* of it, as JSON */
#define TH_MCP_SCHEMA_MAX (32 * TH_KIB)      /* arguments of one tool */
#define TH_MCP_SCHEMA_DEPTH_MAX 32           /* values inside each other in that */
#define TH_MCP_DESCRIPTION_MAX (4 * TH_KIB)  /* of one tool */
#define TH_MCP_INSTRUCTIONS_MAX (4 * TH_KIB) /* of what a server says of its use */
#define TH_MCP_NAME_MAX 128                  /* of a tool, as its server calls it */
#define TH_MCP_HEADERS_MAX 32                /* arguments of one tool that stand in the head */
#define TH_MCP_HEADER_NAME_MAX 80
#define TH_MCP_LEFT_OUT_MAX 20        /* tools that are named as left out, and why */
#define TH_MCP_PATTERNS_MAX 128       /* of names, in one list of an agent file */
#define TH_MCP_LINE_MAX (16 * TH_MIB) /* one message of a server */
#define TH_MCP_PENDING_MAX 64         /* requests to one server without an answer */
#define TH_MCP_NOISE_MAX 10000  /* messages of a server that answer nothing, between two that do */
#define TH_MCP_NOISE_MS 60000   /* and in that time */
#define TH_MCP_ROUNDS_MAX 8     /* questions of a server before it answers one call */
#define TH_MCP_PROCESSES_MAX 32 /* servers of one session */
#define TH_MCP_PICTURES_MAX 8   /* of one result */
#define TH_MCP_PICTURE_BYTES_MAX (8 * TH_MIB) /* of all of them */
#define TH_MCP_PARTS_MAX 256                  /* of one result */
#define TH_MCP_PROGRESS_MAX (16 * TH_KIB)     /* of one call that is shown */
#define TH_MCP_START_S 30                     /* until a server answers its first request */
#define TH_MCP_START_S_MAX 600
#define TH_MCP_DISCOVER_MS 3000 /* an older server may not answer what it does not know */
#define TH_MCP_RESUME_MS 1000   /* before a stream is taken up again */
#define TH_MCP_RESUMES_MAX 8    /* of one answer */
#define TH_MCP_FAREWELL_MS 1000 /* until a server has heard that its session is over */
#define TH_MCP_BACKOFF_MS 500   /* before the second start; doubled each time */
#define TH_MCP_BACKOFF_MS_MAX 30000
#define TH_MCP_CURSOR_MAX (4 * TH_KIB)   /* of a list that goes on, as the model is told it */
#define TH_MCP_FORM_FIELDS_MAX 32        /* of a form that a server shows the person */
#define TH_MCP_FORM_MAX (64 * TH_KIB)    /* such a form, as JSON, with what the server wants back */
#define TH_MCP_ANSWER_MAX (256 * TH_KIB) /* what the person answers, as JSON */
#define TH_MCP_HELD_MAX 16               /* calls of one server that wait for a person's answer */
#define TH_MCP_HELD_MS 86400000          /* such a call is given up then */
#define TH_MCP_STDERR_MAX (2 * TH_KIB)   /* of what a server said, told with its failure */
#define TH_MCP_ENDPOINT_MAX (4 * TH_KIB) /* where an older server's messages go */
#define TH_MCP_TASK_MAX 256              /* name of a task of a server */
#define TH_MCP_TASK_TTL_MS 86400000      /* how long a server is asked to keep one */
#define TH_MCP_POLL_MS 1000 /* between two looks at it, where the server says nothing */
#define TH_MCP_POLL_MS_MIN 100
#define TH_MCP_POLL_MS_MAX 30000
#define TH_MCP_SAMPLES_MAX 8             /* answers of a model that a server gets in one call */
#define TH_MCP_SAMPLE_TOKENS_MAX 4096    /* of one of them */
#define TH_OAUTH_TEXT_MAX (2 * TH_KIB)   /* an address, a name or a scope that somebody else says */
#define TH_OAUTH_TOKEN_MAX (16 * TH_KIB) /* a token */
#define TH_OAUTH_JSON_MAX (64 * TH_KIB)  /* a document or an answer of theirs */
#define TH_OAUTH_FILE_MAX (128 * TH_KIB) /* of one login */
#define TH_OAUTH_MS 30000                /* one request */
#define TH_OAUTH_LOGIN_S 600             /* a person's time to log in */
#define TH_OAUTH_EARLY_S 60              /* a token is renewed so long before its end */
#define TH_OAUTH_LOCK_TRIES_MAX 120      /* while another process renews it */
#define TH_OAUTH_LOCK_MS 250
#define TH_OAUTH_CHALLENGES_MAX 16          /* ways to log in of one answer that are looked at */
#define TH_TERMINAL_HELD_MAX (128 * TH_KIB) /* plain lines that are printed later, or never */
#define TH_TERMINAL_ROWS 50
#define TH_TERMINAL_COLUMNS 200
#define TH_TASKS_MAX 200      /* of a task list */
#define TH_TASK_LINE_MAX 1000 /* characters of a title, of notes */
#define TH_LIST_ENTRIES_MAX 2000
#define TH_PATCH_BYTES_MAX (64 * TH_MIB) /* of all files of one patch, before and after */
#define TH_PATCH_NOTE_MAX (256 * TH_KIB) /* their names and digests, in the journal */
#define TH_PATH_LEN_MAX 4096
#define TH_PTY_SIDE_MAX 1000                 /* columns or rows of a person's terminal */
#define TH_PTY_TYPED_MAX (64 * TH_KIB)       /* typed at once, or before its program is there */
#define TH_PTYS_MAX 64                       /* terminals of one computer */
#define TH_COMMAND_SIZE_MAX (96 * TH_KIB)    /* a command's text: one argument of a program */
#define TH_COMMAND_INPUT_MAX (512 * TH_KIB)  /* arguments of a command tool */
#define TH_COMMAND_OUT_MAX (384 * TH_KIB)    /* of each of its streams, for a person */
#define TH_COMMAND_PROGRESS_MAX (4 * TH_KIB) /* of its standard error, told with a failure */
#define TH_COMMAND_ARGV_MAX 64
#define TH_COMMANDS_MAX 32             /* of one call of the shell */
#define TH_FILE_SCAN_MAX (64 * TH_MIB) /* read_file looks this far for a line */
#define TH_NET_RULES_MAX 256           /* entries of an agent's net */
#define TH_NET_RULE_LEN_MAX 512        /* bytes of one */
#define TH_SECRETS_MAX 64              /* of an agent */
#define TH_SECRETS_SESSIONS_MAX 1024   /* that have such */
#define TH_SECRETS_GIVEN_MAX 256       /* values that come later, the former too */
#define TH_SECRET_LOOKUP_S 30          /* for an answer of who is asked for a secret */
#define TH_SECRET_LOOKUP_S_MAX 300
#define TH_SECRET_ANSWER_MAX (64 * TH_KIB) /* bytes of it */
#define TH_SECRET_RETRY_MS 60000       /* after a refresh that failed: the former value is used */
#define TH_SECRET_URL_MAX (4 * TH_KIB) /* bytes of where a client's secret is looked up */
#define TH_SECRET_HEADERS_MAX 16       /* of that request */
#define TH_SECRET_HEADER_MAX (8 * TH_KIB) /* bytes of one's value */
#define TH_SECRET_REFRESH_S 60            /* then it is looked up again, before the next call */
#define TH_SECRET_PASS_MAX 32             /* variables that such a program gets */
#define TH_SECRET_MEMBER_MAX 16           /* names that lead to a value in JSON */
#define TH_SECRETS_JSON_MAX (2 * TH_MIB)  /* of those that a client gives at once */
#define TH_SECRET_NAME_MAX 64             /* bytes of a secret's name, of a header's */
#define TH_VARIABLE_NAME_MAX 1023         /* bytes of the name of a variable of the environment */
#define TH_MASK_LEN_MIN 8 /* bytes of a secret: shorter ones would mask what is none */
#define TH_MASK_LEN_MAX 4096
#define TH_MASK_NODES_MAX (1 << 20) /* bytes of all forms of all secrets of a mask */
#define TH_MASK_HOLD_MIN 4          /* fewer bytes that may begin a secret are not held back */
#define TH_PLACEHOLDER_HEX 40
#define TH_CA_PEM_MAX (8 * TH_KIB)
#define TH_TRUST_SIZE_MAX (4 * TH_MIB) /* of the roots that a system trusts, as PEM */
#define TH_EGRESS_SESSIONS_MAX 256
#define TH_EGRESS_FLOWS_MAX 512  /* connections of one session */
#define TH_EGRESS_HEAD_MS 30000  /* until a client has said what it wants */
#define TH_DIAL_MS 10000         /* for one address of a server */
#define TH_DIAL_ADDRESSES_MAX 4  /* of a name, that are tried */
#define TH_EGRESS_IDLE_MS 600000 /* a connection on which nothing moves */
#define TH_EGRESS_LEAVE_MS 2000  /* for a client to read why it was refused */
#define TH_EGRESS_LINGER_MS 3000 /* the process stays so long without sessions */
#define TH_EGRESS_LOG_MAX (256 * TH_KIB)
#define TH_EGRESS_START_MS 5000 /* until it listens */
#define TH_EGRESS_RETRY_MS 2000 /* from one start to the next, at least */
#define TH_EGRESS_SYNC_MS 2000  /* an outcome waits so long for its connections */
#define TH_EGRESS_ASKS_MAX 16   /* hosts of a session that a person is asked about, or will be */
#define TH_EGRESS_ASK_MS 600000 /* so long a person is waited for */
#define TH_EGRESS_ROWS_MAX 64   /* of connections, in the evidence of one outcome */
#define TH_EXEC_CLIENTS_MAX 64
#define TH_EXEC_GATE_MAX 4096 /* connections of other nodes to executors of one machine */
#define TH_EXEC_GATE_HELLO_MAX (2 * TH_MIB) /* bytes of the first message of each */
#define TH_EXEC_REACH_MS 10000              /* tries to reach an executor of another machine */
#define TH_EXEC_REACH_AGAIN_MS 500          /* between two of them */
#define TH_EXEC_PLACE_EVENTS_MAX 1024       /* the last of a log, which say where it is */
#define TH_STREAM_QUEUE_MAX (256 * TH_KIB)  /* bytes that wait for a peer; twice that is refused */
#define TH_STREAM_STALL_MS 30000        /* a peer that takes nothing, or never ends its handshake */
#define TH_RELAY_SIZE_MAX (64 * TH_KIB) /* bytes on their way from a descriptor to a stream */
#define TH_EXEC_RUNNING_MAX 192         /* effects under way; less than TH_CHILDREN_MAX */
#define TH_EXEC_EFFECTS_MAX 4096        /* effects whose outcome nobody has taken over yet */
#define TH_EXEC_FORGOTTEN_MAX 8192      /* effect ids remembered after that */
#define TH_EXEC_BLOBS_MAX (64 * TH_MIB) /* pictures kept for outcomes nobody has taken over yet */
#define TH_EXEC_LOG_MAX (256 * TH_KIB)  /* what an executor may say on its standard error */
#define TH_EFFECT_ID_MAX 64
#define TH_ROLE_MS 20000              /* until what was started says what it is */
#define TH_EXEC_START_MS 20000        /* until an executor listens */
#define TH_EXEC_STOP_MS 15000         /* for everything it runs to end */
#define TH_COMMAND_PROCESSES_MAX 4096 /* threads of a command; io/processes.h */
#define TH_COMPUTER_KINDS_MAX 16
#define TH_DESKTOP_START_MAX 16 /* programs that an agent file starts on its desktop */
#define TH_X11_WINDOWS_MAX 256  /* that are counted */
#define TH_START_WAIT_S 10      /* for the windows of those programs */
#define TH_START_WAIT_S_MAX 60
#define TH_START_QUIET_MS 100               /* nothing drawn for so long: a window is there */
#define TH_EXEC_OUTPUT_MAX (512 * TH_KIB)   /* what one effect gives back, as JSON */
#define TH_EXEC_EVIDENCE_MAX (256 * TH_KIB) /* and what is known beside it */
#define TH_DISPLAY_TEXT_MAX (200 * TH_KIB)  /* of clipboards in one answer, as JSON */
#define TH_DISPLAY_START_MS 30000           /* until a computer is open */
#define TH_DISPLAY_CALL_MS 300000           /* one computer call with all its waiting */
#define TH_DISPLAY_INTERRUPT_MS 5000        /* from being told to end it to being killed */
#define TH_DISPLAY_CLOSE_MS 5000
#define TH_JOURNAL_RECORD_MAX (1 * TH_MIB)
#define TH_JOURNAL_SIZE_MAX (1024 * TH_MIB)
#define TH_LEDGER_TIDY_SIZE \
	(2 * TH_MIB) /* a journal this long is looked through for what is forgotten */

/* run */
#define TH_EXPORT_BLOB_MAX (40 * TH_MIB) /* of a session that is exported: one line holds it */
#define TH_HTML_SIZE_MAX (256 * TH_MIB)  /* of a session as an HTML file, its player included */
#define TH_HTML_PICTURES_MAX 4096        /* in it */
#define TH_SEARCH_MAX 1000               /* events of a log that a search gives */
#define TH_EXPORT_SESSIONS_MAX 4096      /* that belong to it, itself included */
#define TH_EXPORT_EVENTS_MAX 57344       /* of all of them: one transaction takes them in */
#define TH_EXPORT_BLOBS_MAX 16384        /* of all of them */
#define TH_EXPORT_SIZE_MAX TH_BATCH_MEMORY_MAX /* lines of the file */
#define TH_POLL_FIRST_MS 500 /* between two looks at an answer in the background; doubles */
#define TH_POLL_MAX_MS 8000
#define TH_MODEL_CONNECT_MS 20000 /* name, TCP and TLS of a model request */
#define TH_MODEL_IDLE_MS 300000   /* default silence, in bytes and in events, that ends one */
#define TH_MODEL_TOTAL_MS 3600000 /* default longest one */
#define TH_BATCH_MEMORY_MAX (1024 * TH_MIB)    /* events and blobs on their way to the store */
#define TH_NOTE_MAX 4096                       /* bytes of what a person says who gives back */
#define TH_HELD_MESSAGES_MAX 64                /* messages that wait for open calls */
#define TH_REQUEST_HEAD_MAX (8 * TH_KIB)       /* a request's URL, and its headers */
#define TH_EXTRA_HEADERS_MAX 16                /* of an agent's settings */
#define TH_EXTRA_HEADERS_SIZE_MAX (4 * TH_KIB) /* all of them, as JSON */
#define TH_MODEL_HEADERS_MAX (8 + TH_EXTRA_HEADERS_MAX) /* of a wire's own, and these */
#define TH_IMAGES_IN_CONTEXT_DEFAULT 20                 /* screenshots sent with a request */
#define TH_TARGET_MAX 2000              /* description of an element that a grounder looks for */
#define TH_SIDE_TOKEN_BYTES 4           /* of a side request's text are reserved as one token */
#define TH_GROUP_HOLES_MAX 256          /* pictures and marks of one group of the history */
#define TH_BLOB_CACHE_MAX (64 * TH_MIB) /* base64 of pictures kept between requests */
#define TH_HUMAN_CALLERS_MAX 32         /* connections of those who answer over HTTP */
#define TH_HUMAN_BODY_MAX (1 * TH_MIB)  /* one answer of theirs */
#define TH_HUMAN_CALLER_MS 10000        /* for a whole request of theirs */
#define TH_HUMAN_SHOW_MS_MAX 1000       /* a terminal that takes no text loses the rest */
#define TH_HUMAN_ANSWERED_MAX 64        /* answers whose status is remembered */
#define TH_CONFIG_SIZE_MAX (1 * TH_MIB)
#define TH_USER_PROFILES_MAX 256 /* rows of a models file */
#define TH_CONFIG_KEYS_MAX 512   /* keys of one mapping of a configuration or agent file */
#define TH_OTLP_QUEUE_MAX 256    /* traces that wait for their collector */
#define TH_OTLP_QUEUE_SIZE_MAX (32 * TH_MIB)
#define TH_OTLP_TRIES_MAX 8
#define TH_OTLP_RETRY_FIRST_MS UINT64_C(1000) /* doubles */
#define TH_OTLP_RETRY_MAX_MS UINT64_C(60000)
#define TH_OTLP_TIMEOUT_MS UINT64_C(10000)
#define TH_OTLP_END_MS UINT64_C(3000) /* that a program's end waits for the collector */
#define TH_TITLE_MAX 80               /* characters of a session's title */
#define TH_SESSIONS_MAX 16384         /* in one runtime */

/* server */
#define TH_LOOP_LONG_MS 5               /* a pass of a loop that takes longer delays others */
#define TH_LOOP_SHARE_MS 2              /* of it, for one queue: the rest is the next pass's */
#define TH_SERVE_LOOKUPS_MAX 64         /* of a request: reasoning that a client left here */
#define TH_TOKENS_MAX 10000             /* of one server */
#define TH_TOKENS_SIZE_MAX (8 * TH_MIB) /* their file */
#define TH_TOKEN_MIN 16                 /* bytes of one that somebody chose */
#define TH_TOKEN_MAX 512
#define TH_LOGINS_USER_MAX 32                  /* of one user, and as many codes of links */
#define TH_LOGIN_MS (7 * INT64_C(86400000))    /* a browser is logged in for so long */
#define TH_LOGIN_CODE_MS (10 * INT64_C(60000)) /* the code of a link is good for so long */
#define TH_SERVE_BEGIN_MS 20   /* what begins has waited for its turn so long: no other begins */
#define TH_SERVE_LONG_PASSES 3 /* in a row: nor does what waits for no turn (A2A, MCP, sockets) */
/* So many open sessions that run or wait: nothing begins. */
#define TH_SERVE_OPEN_MAX (TH_SESSIONS_MAX - 1024)
#define TH_ADMISSION_LOOK_MS 1000   /* between two looks at what is left of the machine */
#define TH_ADMISSION_USERS_MAX 64   /* that were refused, and come first when there is room */
#define TH_ADMISSION_WAIT_MS 5000   /* after the last refusal of each */
#define TH_SERVE_AGENTS_MAX 1000    /* files of a server's folder of agents */
#define TH_SERVE_SCHEDULED_MAX 1000 /* sessions of a user that begin later */
#define TH_SERVE_REST_MS 10000      /* a session that rests is given back then */
#define TH_SERVE_RESTING_MAX 1024   /* or when more than that many rest */
#define TH_SERVE_PARK_MS 600000     /* and one that waits for a client's results */
#define TH_SERVE_LEASE_MS 15000     /* of a person who took over, from each of his messages on */
#define TH_SERVE_LEASE_GONE_MS 5000 /* and from the end of his socket */
#define TH_SERVE_INPUTS_MAX 512     /* actions of a person that wait */
#define TH_SERVE_ECHO_MAX TH_MIB    /* what a request of /v1 says beside its input */
#define TH_SERVE_QUEUE_MAX 32       /* responses asked for on one WebSocket that wait */
#define TH_SERVE_LANES_MAX 16       /* streams of one WebSocket that have something to do */
#define TH_SERVE_STREAM_ID_MAX 64   /* the name of one */
#define TH_SERVE_STEERS_MAX 16      /* of one response, until they are written */
#define TH_CONVERSATION_SIZE_MAX (256 * TH_MIB)   /* a session as events of OpenHands, in memory */
#define TH_CONVERSATION_EVENTS_MAX 524288         /* and how many they are */
#define TH_SERVE_OPENHANDS_HELD_MAX (64 * TH_MIB) /* of all of these that nobody reads just now */
#define TH_SERVE_OPENHANDS_PAGE_MAX 100           /* events, or conversations, of one answer */
#define TH_SERVE_OPENHANDS_LOGIN_MS 10000         /* until its WebSocket has said who it is */
#define TH_SERVE_OPENHANDS_SOCKETS_MAX 64         /* WebSockets of one conversation */
#define TH_SERVE_OPENHANDS_STATE_MAX (128 * TH_KIB) /* a conversation's state as JSON */
#define TH_SERVE_OPENHANDS_COMMANDS_MAX 128         /* of clients, the ended ones too */
#define TH_SERVE_OPENHANDS_ACTS_MAX 64              /* that wait or are under way */
#define TH_SERVE_OPENHANDS_UPLOAD_MAX (8 * TH_MIB)  /* a file that a client puts there */
#define TH_SERVE_OPENHANDS_DIFF_MAX (128 * TH_KIB)  /* a file that is shown as it was and is */
#define TH_SERVE_OPENHANDS_TAGS_MAX 50              /* of a conversation */
#define TH_SERVE_OPENHANDS_BATCH_MAX 99             /* conversations that are asked for by name */
#define TH_SERVE_CUA_QUEUE_MAX 256           /* commands of one WebSocket of Cua's face that wait */
#define TH_SERVE_CUA_JOBS_MAX 128            /* commands of Cua's face that wait or are under way */
#define TH_SERVE_CUA_LOGIN_MS 10000          /* until its WebSocket has said who it is */
#define TH_SERVE_CUA_PTYS_MAX 32             /* terminals of Cua's face, ended ones too */
#define TH_SERVE_CUA_PTY_RING (256 * TH_KIB) /* what one has written last */
#define TH_SERVE_CUA_FOLLOWERS_MAX 16        /* who follow one terminal */
#define TH_SERVE_CUA_ENVS_MAX 64             /* variables that one is given */
#define TH_SERVE_CUA_READ_MAX (8 * TH_MIB)   /* of a file or a command's output, in one answer */
#define TH_SERVE_LOOKS_MAX 200               /* logs of others that are looked at in a second */
#define TH_SERVE_PAGE_EVENTS 1000            /* of a page of events, at most */
#define TH_SERVE_PING_MS 15000               /* between two signs of life of a stream */
#define TH_MCP_SESSIONS_MAX 1000             /* of the protocol, of one server */
#define TH_MCP_COMPUTERS_MAX 16              /* desktops of users, of one server */
#define TH_MCP_COMPUTER_MS 600000            /* one that nobody uses is given up then */
#define TH_MCP_WATCHES_MAX 64                /* resources that one client listens to */
#define TH_RPC_ID_MAX 1024                   /* bytes of an id or a progress token of JSON-RPC */
#define TH_MCP_STATE_MS 86400000             /* what a client keeps for a tool holds so long */
#define TH_SERVE_SOCKET_MS 3600000           /* of a WebSocket with responses */
#define TH_SERVE_PAIRS_MAX 16                /* of a response's or a conversation's metadata */
#define TH_SERVE_PAIR_KEY_MAX 64
#define TH_SERVE_PAIR_VALUE_MAX 512
#define TH_SERVE_GIVEN_ITEMS_MAX 20      /* added to a conversation at once */
#define TH_SERVE_REMOVED_ITEMS_MAX 256   /* taken out of one conversation */
#define TH_SERVE_STAYS_MAX (32 * TH_KIB) /* messages that a compaction leaves as they are */
#define TH_SERVE_JSON_MAX (16 * TH_MIB)  /* body of most requests */
#define TH_SERVE_SMALL_MAX (64 * TH_KIB) /* body of a request that says little */
#define TH_SERVE_RATE_USERS_MAX 10000    /* users, or addresses, whose requests are counted */
#define TH_SERVE_USERS_MAX 10000         /* with quotas of their own */
#define TH_WEBHOOKS_MAX 32               /* of one server */
/* That wait for one; further ones stay in the logs until there is room. */
#define TH_WEBHOOK_QUEUE_MAX 10000
#define TH_WEBHOOK_DONE_MAX 10000         /* that its file remembers as taken */
#define TH_WEBHOOK_FLIGHT_MAX 8           /* requests of one at a time */
#define TH_WEBHOOK_TEXT_MAX 4096          /* of a text in one */
#define TH_WEBHOOK_FILE_MAX (40 * TH_MIB) /* all of these, and the hooks of clients */
#define TH_WEBHOOK_TIMEOUT_MS UINT64_C(20000)
#define TH_WEBHOOK_RETRY_FIRST_MS UINT64_C(5000) /* doubles, a fifth more or less */
#define TH_WEBHOOK_RETRY_MAX_MS UINT64_C(3600000)
#define TH_WEBHOOK_DISABLE_MS (3 * UINT64_C(86400000)) /* that none was taken, and it is off */
#define TH_WEBHOOK_SLACK_MS INT64_C(60000) /* from an event's time until it is durable, at most */
/* Hooks that clients asked for, each of one session (server/webhooks.h). */
#define TH_WEBHOOK_SHARED_MS 10000 /* between two lines of a node that has nothing new to say */
/* What others of a fleet were told is remembered for so long: until a dead one's line is taken. */
#define TH_WEBHOOK_SHARED_DONE_MS INT64_C(60000)
#define TH_WEBHOOK_APPEND_MAX TH_MIB          /* behind its file, until it is written anew */
#define TH_CLIENT_HOOKS_MAX 1024              /* of one server */
#define TH_CLIENT_HOOK_LOOKS_MAX 50           /* whose sessions may be elsewhere, in a second */
#define TH_CLIENT_HOOKS_USER_MAX 128          /* of one user */
#define TH_CLIENT_HOOK_SIZE_MAX (16 * TH_KIB) /* of one, as its file has it */
#define TH_CLIENT_HOOK_DONE_MAX 64            /* that the file remembers as taken, of one */
#define TH_LETTER_SIZE_MAX TH_MIB             /* of what is sent to one */
#define TH_LETTER_HEADERS_MAX 2
#define TH_SERVE_SECRET_SERVERS_MAX 64 /* of which clients' secrets are fetched */
#define TH_SERVE_PROXIES_MAX 64        /* that are trusted; and hops of one request */

/* what an agent changed in its folder */
#define TH_FILES_MAX 10000                     /* files and folders of one that are looked at */
#define TH_FILES_DEPTH_MAX 32                  /* folders below each other */
#define TH_FILES_PATHS_MAX (4 * TH_MIB)        /* all of their paths */
#define TH_FILES_COMPARE_MAX (1 * TH_MIB)      /* a larger file is compared by size and time */
#define TH_FILES_COMPARE_ALL_MAX (16 * TH_MIB) /* contents that are compared at once */
#define TH_FILES_COPY_MAX (256 * TH_KIB)       /* of a larger text no copy is kept for diffs */
#define TH_FILES_COPIES_MAX (8 * TH_MIB)       /* copies of one session */
#define TH_FILES_SNIFF 8192                    /* bytes that say whether a file is text */
#define TH_FILES_DIFF_MAX (1 * TH_MIB)         /* a file that is shown as a diff */
#define TH_FILES_GET_MAX (32 * TH_MIB)         /* a file that is given whole */
#define TH_FILES_JOBS_MAX 4                    /* requests for files at a time, of one server */
#define TH_DIFF_LINES_MAX 100000               /* of one text */
#define TH_DIFF_EDITS_MAX 1000                 /* of the shortest script; see base/diff.h */

/* the page */
#define TH_PAGE_FILE_MAX (2 * TH_MIB) /* one of its files, or the player of an export */

/* the command line as a client of a server */
#define TH_REMOTE_CONNECT_MS 10000 /* name, TCP, TLS */
#define TH_REMOTE_SILENT_MS 60000  /* no byte, where a stream has a sign of life every 15 s */
#define TH_REMOTE_AWAY_MS 120000   /* a server that is gone is waited for so long */
#define TH_REMOTE_AGAIN_MS 100     /* before the first further try; each next wait is twice that */
#define TH_REMOTE_AGAIN_MAX_MS 3000
#define TH_REMOTE_WAIT_MAX_MS 60000 /* of what a server says about when to come again */

/* editors (thole acp) and other agents (A2A) */
#define TH_ACP_SESSIONS_MAX 64           /* open at a time in one process */
#define TH_ACP_MESSAGE_MAX (32 * TH_MIB) /* a line; pictures of a prompt are in it */
#define TH_ACP_PICTURE_MAX (8 * TH_MIB)  /* of a result; a larger one is only named */
#define TH_A2A_PAGE 50                   /* tasks in a page of a list, unless it is said */
#define TH_A2A_PAGE_MAX 100
#define TH_A2A_LIST_SIZE (8 * TH_MIB) /* of them, as JSON; one task may be larger */
#define TH_A2A_HISTORY_MAX 100        /* messages of a task, unless fewer are asked for */
#define TH_A2A_COUNT_EVENTS 20000     /* that are read for the total of a list, beyond its page */

/* api */
#define TH_TOOL_NAME_MAX 64                    /* of a function of the embedding program */
#define TH_AGENT_NAME_MAX 128                  /* of an agent that it makes */
#define TH_AGENT_MEMORY_MAX (4 * TH_MIB)       /* definition of one, with what was overwritten */
#define TH_CALL_SIDE_MAX 8192                  /* pixels of such a picture, or of a screen */
#define TH_CALL_PICTURES_MAX 4                 /* in the answer of one call */
#define TH_CALL_PICTURE_MAX (16 * TH_MIB)      /* file of such a picture */
#define TH_CALL_ANSWER_MAX (8 * TH_MIB)        /* text of the answer, as JSON */
#define TH_CALL_TIMEOUT_MAX_MS (86400 * 1000L) /* that a tool may ask for */
#define TH_WATCHERS_MAX 256                    /* of one session */
#define TH_WATCHER_NOTES_MAX 4096              /* that wait for one that is held */
#define TH_WATCHER_BYTES_MAX (8 * TH_MIB)      /* and their size */
#define TH_PAGE_SESSIONS 100                   /* of a page that says no number */
#define TH_PAGE_SESSIONS_MAX 1000              /* of any page */
#define TH_USER_MAX 256                        /* name of who a session belongs to */
#define TH_START_AGAIN_MS 5000                 /* what did not begin when it was to */
#define TH_MOMENT_MAX_S (3653LL * 86400)       /* from now, that something begins */
#define TH_METADATA_MAX (64 * TH_KIB)          /* of a session, as JSON */
#define TH_LIST_SESSIONS 1000                  /* in a list that says no number */

#endif
